package serving_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/classify/serving"
	"github.com/noregret/noregret/dataset"
)

func Example() {
	dir, err := os.MkdirTemp("", "serving")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "past.svm")
	text := "1 1:2\n1 1:3\n1 1:2.5\n-1 1:0\n-1 1:0.5\n-1 1:-1\n-1 1:0.2\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
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
	opt := classify.Options{Measure: measure.FBeta{B: 1}, Algorithm: "logistic"}
	result, err := classify.Fit(ctx, data, opt)
	if err != nil {
		log.Fatal(err)
	}
	model, err := classify.NewModel(result, opt, data)
	if err != nil {
		log.Fatal(err)
	}

	s, err := serving.New(model, serving.DefaultOptions())
	if err != nil {
		log.Fatal(err)
	}
	parser, err := dataset.NewRowParser(model.Schema, dataset.UnseenIgnore)
	if err != nil {
		log.Fatal(err)
	}
	block, _, err := parser.Lines([]byte("1:2.2\n1:0.1\n"))
	if err != nil {
		log.Fatal(err)
	}
	predictions, err := s.Predict(block)
	if err != nil {
		log.Fatal(err)
	}
	for i, p := range predictions {
		fmt.Printf("row %d is positive: %t\n", i, len(p.Labels) > 0)
	}
	fmt.Println(s.Label(predictions[1].ID, "-1").Fate == serving.Accepted)
	figures, err := s.Figures()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("of %d row, the share without a mistake is %g\n", figures.Rows, *figures.Exact)
	// Output:
	// row 0 is positive: true
	// row 1 is positive: false
	// true
	// of 1 row, the share without a mistake is 1
}
