package nova_test

import (
	"fmt"

	"github.com/sesslog/sesslog/core/dialect/nova"
)

func ExampleState_DictWithoutTags() {
	s := nova.State{SessionID: "session-1", CreatedAt: "2026-01-02T03:04:05", LastUpdated: "2026-01-02T03:04:05", Model: "m", Tags: []string{"private"}}
	fmt.Println(len(s.Dict()) - len(s.DictWithoutTags()))
	// Output: 19
}
