package train

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strconv"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/cli/show"
)

// writeMulti prints the predictions of a model of several classes or labels.
func (o *predictOptions) writeMulti(ctx context.Context, r *modelReader, inputs []string, out io.Writer) error {
	w := bufio.NewWriterSize(out, 64<<10)
	line, err := newMultiLine(r.multi, o.json)
	if err != nil {
		return err
	}
	var scores []float64
	var predicted []int
	_, err = r.each(ctx, inputs, func(_ *dataset.Stream, b *dataset.Block) error {
		for i := range b.Len() {
			index, value := b.Row(i)
			scores = r.joint.Scores(scores[:0], index, value)
			if k := slices.IndexFunc(scores, func(z float64) bool { return z-z != 0 }); k >= 0 {
				return noregret.BadInputf("", "row %d: the score of %s is %v, out of the range of float64",
					b.FirstRow+int64(i)+1, r.multi.Labels[k], scores[k])
			}
			predicted = r.joint.Decide(predicted[:0], scores)
			if _, err := w.Write(line.of(scores, predicted)); err != nil {
				return err
			}
		}
		return w.Flush()
	})
	return err
}

// multiLine makes the lines of predictions.
type multiLine struct {
	task   classify.Task
	json   bool
	labels []string // as printed
	buf    []byte
}

func newMultiLine(m *classify.MultiModel, asJSON bool) (*multiLine, error) {
	l := &multiLine{task: m.Task, json: asJSON, labels: show.LegibleAll(m.Labels)}
	if !asJSON {
		return l, nil
	}
	l.labels = nil
	for _, name := range m.Labels {
		quoted, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		l.labels = append(l.labels, string(quoted))
	}
	return l, nil
}

// of returns the line of a row, which is valid until the next call.
func (l *multiLine) of(scores []float64, predicted []int) []byte {
	b := l.buf[:0]
	single := l.task == classify.Multiclass
	switch {
	case single && !l.json:
		b = strconv.AppendFloat(b, scores[predicted[0]], 'g', -1, 64)
		b = append(b, '\t')
		b = append(b, l.labels[predicted[0]]...)
	case !l.json:
		b = l.list(b, predicted)
	default:
		if single {
			b = append(append(b, `{"label":`...), l.labels[predicted[0]]...)
		} else {
			b = append(l.list(append(b, `{"labels":[`...), predicted), ']')
		}
		b = append(b, `,"scores":{`...)
		for k, z := range scores {
			if k > 0 {
				b = append(b, ',')
			}
			b = append(append(b, l.labels[k]...), ':')
			b = strconv.AppendFloat(b, z, 'g', -1, 64)
		}
		b = append(b, "}}"...)
	}
	l.buf = append(b, '\n')
	return l.buf
}

// list appends the labels, separated by commas.
func (l *multiLine) list(b []byte, predicted []int) []byte {
	for i, k := range predicted {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, l.labels[k]...)
	}
	return b
}
