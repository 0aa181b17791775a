# The steps of docs/API.md. SESS_URL is the node.
import json, os, time, urllib.error, urllib.parse, urllib.request

URL = os.environ["SESS_URL"]

class Problem(Exception):
    def __init__(self, detail):
        super().__init__(f'{detail["detail"]} ({detail["code"]}); {detail.get("next", "")}')
        self.detail = detail
        self.code = detail["code"]

def call(method, path, body=None, headers={}):
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        raise Problem(json.load(error)) from None

# Make a session.
made = json.loads(call("POST", "/v1/sessions", {"cwd": "/home/me/site"}, {"Idempotency-Key": "job-4711-py"}))
session, seq = made["id"], made["seq"]
print("made", session, "at", seq)

# Append with a condition.
def message(text):
    return json.dumps({"type": "message", "message": {"role": "user", "content": text}}).encode()

def append(lines, expecting, key, query=""):
    headers = {"If-Match": expecting, "Idempotency-Key": key}
    return json.loads(call("POST", f"/v1/sessions/{session}/entries{query}", lines, headers))

first = seq
seq = append(message("Which port does the admin page use?"), seq, "turn-1")["seq"]
print("appended at", seq)

# Handle a conflict.
try:
    append(message("And who may use it?"), first, "turn-2")
except Problem as problem:
    if problem.code != "conflict":
        raise
    print("conflict:", len(problem.detail["since"]), "records came first")
    seq = append(message("And who may use it?"), first, "turn-2", "?onConflict=rebase")["seq"]

# Follow and resume.
def follow(path, last=""):
    while True:
        request = urllib.request.Request(URL + path, headers={"Last-Event-ID": last} if last else {})
        try:
            with urllib.request.urlopen(request, timeout=30) as stream:  # a comment comes every ten seconds
                event = {}
                for line in stream:
                    name, _, value = line.decode().rstrip("\n").partition(": ")
                    if name in ("id", "event", "data"):
                        event[name] = value
                    elif not line.strip() and event:
                        if event.get("event") == "problem":
                            raise Problem(json.loads(event["data"]))
                        if "data" in event:
                            yield event["event"], json.loads(event["data"])
                        last = event.get("id", last)
                        event = {}
        except urllib.error.HTTPError as error:
            raise Problem(json.load(error)) from None
        except (OSError, ValueError, urllib.request.http.client.HTTPException):
            pass
        time.sleep(1)

seen = []
for kind, record in follow(f"/v1/sessions/{session}/events"):
    seen.append(record["cursor"])
    if record["cursor"] == seq:
        break
print("followed:", len(seen), "events")

# Export and import.
exported = call("GET", f"/v1/sessions/{session}/export")
imported = json.loads(call("POST", "/v1/import", exported))
print("imported:", imported["entries"], "new entries of", len(exported.splitlines()) - 1)

# Search.
query = urllib.parse.urlencode({"q": '"admin page" port', "session": session})
for hit in json.loads(call("GET", "/v1/search?" + query))["hits"]:
    print("found:", hit["snippet"])
