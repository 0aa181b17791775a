package openai_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/openai/openai-go/v3/option"

	"github.com/sesslog/sesslog/session/loop"
	"github.com/sesslog/sesslog/session/loop/openai"
)

func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { stream(w, chunks...) }))
	defer server.Close()
	model := openai.New("some-model", option.WithBaseURL(server.URL), option.WithAPIKey("key"))
	reply, err := model.Stream(context.Background(), loop.Request{Messages: []loop.Message{{Role: loop.User, Text: "Which port?"}}},
		func(d loop.Delta) { fmt.Print(d.Text, "|") })
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(reply.Calls[0].Name)
	// Output: h|m|||read
}
