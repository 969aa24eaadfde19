package scoring_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/server/scoring"
)

func Example() {
	dir, err := os.MkdirTemp("", "scoring")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "past.csv")
	if err := os.WriteFile(path, []byte("age,label\n61,1\n70,1\n65,1\n20,0\n31,0\n25,0\n40,0\n"), 0o600); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	set, err := dataset.Load(ctx, []string{path}, dataset.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = set.Close() }()
	data, err := classify.NewData(set, classify.Binary)
	if err != nil {
		log.Fatal(err)
	}
	opt := classify.Options{
		Measure: measure.FBeta{B: 1}, Algorithm: "logistic", Calibration: classify.CalibrationNone,
	}
	result, err := classify.Fit(ctx, data, opt)
	if err != nil {
		log.Fatal(err)
	}
	model, err := classify.NewModel(result, opt, data)
	if err != nil {
		log.Fatal(err)
	}

	s, err := scoring.New(model, scoring.DefaultConfig())
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	h := httptest.NewServer(s.Handler()) // or s.Run
	defer h.Close()
	post := func(path, body string) string {
		resp, err := http.Post(h.URL+path, "application/json", strings.NewReader(body))
		if err != nil {
			log.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			log.Fatal(err)
		}
		return string(text)
	}
	answer := post("/v1/predict", `{"rows":[{"age":68}]}`)
	fmt.Println(strings.Contains(answer, `"label":"1"`))
	_, id, _ := strings.Cut(answer, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	fmt.Print(post("/v1/labels", `{"labels":[{"id":"`+id+`","label":"1"}]}`))
	// Output:
	// true
	// {"results":[{"status":"accepted"}]}
}
