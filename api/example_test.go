package api_test

import (
	"encoding/json"
	"fmt"

	"github.com/noregret/noregret/api"
)

// A program reports feedback by the tokens of its decisions and reads what counted.
func Example() {
	body, err := json.Marshal(map[string]any{"items": []api.FeedbackItem{
		{Token: "AQEB", Metrics: map[string]float64{"clicks": 1}},
		{Token: "changed", Metrics: map[string]float64{"clicks": 0}},
	}})
	if err != nil {
		panic(err)
	}
	fmt.Println(string(body))

	answer := `{"accepted":1,"duplicate":0,"late":0,"rejected":1,"items":[{"status":"accepted"},
		{"status":"rejected","error":"the token cannot be read or was changed"}]}`
	var result api.FeedbackResult
	if err := json.Unmarshal([]byte(answer), &result); err != nil {
		panic(err)
	}
	fmt.Println(result.Accepted, "accepted;", result.Items[1].Status+":", result.Items[1].Error)
	// Output:
	// {"items":[{"token":"AQEB","metrics":{"clicks":1}},{"token":"changed","metrics":{"clicks":0}}]}
	// 1 accepted; rejected: the token cannot be read or was changed
}

// A source of high volume adds its values up itself and sends the sums.
func ExampleSums_Add() {
	var clicks api.Sums
	for _, v := range []float64{1, 0, 1, 1} {
		clicks.Add(v)
	}
	text, err := json.Marshal(clicks)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
	// Output: {"n":4,"sum":3,"squares":3,"low":0,"high":1}
}
