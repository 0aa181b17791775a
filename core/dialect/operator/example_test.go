package operator_test

import (
	"fmt"
	"log"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/operator"
)

func ExampleChannel() {
	f, err := operator.Dialect{}.File([]byte(`{"type":"session","version":3,"id":"s1","timestamp":1,"cwd":"/w"}
{"type":"message","id":"a","timestamp":2,"message":{"role":"user","content":[]}}
{"type":"channel","id":"b","parent_id":"a","timestamp":3,"name":"telegram","chat_id":"7"}
`))
	if err != nil {
		log.Fatal(err)
	}
	name, err := operator.Channel(f.Entries, core.Leaf{})
	fmt.Println(name, err, len(operator.Children(f.Entries, "a")))
	// Output: telegram <nil> 1
}
