package sets

import (
	"strings"
	"testing"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dataset"
)

// Messages are numbers of the words of a message, by slot.
func TestWriteMessage(t *testing.T) {
	var b strings.Builder
	writeMessage(&b, true, "Win a PRIZE, win!")
	fields := strings.Fields(b.String())
	if len(fields) != 4 || fields[0] != "1" || strings.Count(b.String(), ":2") < 1 {
		t.Errorf("wrote %q", b.String())
	}
}

// The sets of the paper are those that their names say, and rows keep their labels and values.
func TestTale(t *testing.T) {
	for k, name := range []string{"ijcnn1", "covtype-5", "mnist-5"} {
		if Tale[k].Name != name {
			t.Errorf("set %d is %s, want %s", k, Tale[k].Name, name)
		}
	}
	b, err := dataset.NewBuilder(3, "no", "yes")
	if err != nil {
		t.Fatal(err)
	}
	for class, value := range []float32{2, 7} {
		if err := b.Add([]uint32{1}, []float32{value}, class, 1); err != nil {
			t.Fatal(err)
		}
	}
	set, err := b.Set()
	if err != nil {
		t.Fatal(err)
	}
	rows, dim, err := Examples(classify.Data{Set: set, Positive: 1})
	if err != nil || dim != 3 || len(rows) != 2 {
		t.Fatalf("%d rows of dimension %d, %v", len(rows), dim, err)
	}
	if rows[0].Positive || rows[0].Value[0] != 2 || !rows[1].Positive || rows[1].Value[0] != 7 {
		t.Errorf("rows %+v", rows)
	}
}
