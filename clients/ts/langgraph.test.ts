// LangGraph's own validation of checkpointers, by vitest. $SESS_URL is a node.

import { validate } from "@langchain/langgraph-checkpoint-validation";
import { randomUUID } from "node:crypto";
import { SesslogSaver } from "./langgraph.ts";

validate({ checkpointerName: "sesslog", createCheckpointer: () => new SesslogSaver({ path: `lg${randomUUID()}` }) });
