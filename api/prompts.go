package api

import (
	"github.com/sesslog/sesslog/materializer"
)

// Prompt is one of the prompts that people gave.
type Prompt = materializer.Prompt

// PromptQuery says which prompts are wanted.
type PromptQuery = materializer.PromptQuery
