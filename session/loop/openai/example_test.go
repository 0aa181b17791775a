package openai_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/openai/openai-go/v3/option"

	"github.com/sesslog/sesslog/session/loop"
	"github.com/sesslog/sesslog/session/loop/modeltest"
	"github.com/sesslog/sesslog/session/loop/openai"
)

func Example() {
	server := httptest.NewServer(modeltest.OpenAI.Script(loop.Reply{Text: "Port 8080.", Finish: loop.FinishStop}))
	defer server.Close()
	model := openai.New("some-model", option.WithBaseURL(server.URL), option.WithAPIKey("key"))
	reply, err := model.Stream(context.Background(), loop.Request{Messages: []loop.Message{{Role: loop.User, Text: "Which port?"}}},
		func(d loop.Delta) { fmt.Print(d.Text, "|") })
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(reply.Finish)
	// Output: Port |8080.|stop
}
