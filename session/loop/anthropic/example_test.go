package anthropic_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/sesslog/sesslog/session/loop"
	"github.com/sesslog/sesslog/session/loop/anthropic"
	"github.com/sesslog/sesslog/session/loop/modeltest"
)

func Example() {
	server := httptest.NewServer(modeltest.Anthropic.Script(loop.Reply{Text: "Port 8080.", Finish: loop.FinishStop}))
	defer server.Close()
	model := anthropic.New("some-model", option.WithBaseURL(server.URL), option.WithAPIKey("key"))
	reply, err := model.Stream(context.Background(), loop.Request{Messages: []loop.Message{{Role: loop.User, Text: "Which port?"}}},
		func(d loop.Delta) { fmt.Print(d.Text, "|") })
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(reply.Finish)
	// Output: Port |8080.|stop
}
