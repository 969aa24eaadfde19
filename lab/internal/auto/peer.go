package auto

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
)

// peerName is the name of scikit-learn among the algorithms.
const peerName = "scikit-learn"

//go:embed peer.py
var peerScript string

// peer runs a tuned logistic regression of scikit-learn.
type peer struct{ python, temp string }

// newPeer writes the script to a temporary directory. It fails if Python or scikit-learn is
// missing.
func newPeer(ctx context.Context, python, temp string) (*peer, error) {
	p := &peer{python, temp}
	if err := os.WriteFile(p.path("peer.py"), []byte(peerScript), 0o600); err != nil {
		return nil, err
	}
	_, err := p.run(ctx, "-c", "import sklearn")
	return p, err
}

// path is the path of a file of the temporary directory.
func (p *peer) path(name string) string { return filepath.Join(p.temp, name) }

// run runs Python on one thread and returns what it prints.
func (p *peer) run(ctx context.Context, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, p.python, args...)
	c.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		return nil, fmt.Errorf("%s: %w: %s", p.python, err, lines[len(lines)-1])
	}
	return out, nil
}

// trains reports whether the script knows the measure.
func (p *peer) trains(task classify.Task, m string) bool {
	if task == classify.Multiclass {
		return m == "macro_f1" || m == "macro_recall"
	}
	return slices.Contains([]string{"f1", "gmean", "qmean", "min"}, m)
}

// values trains on one part of the rows and returns the measures on the other, and the seconds.
func (p *peer) values(ctx context.Context, train, test classify.Data, measures []measure.Objective) ([]float64, float64,
	error,
) {
	args := []string{p.path("peer.py"), p.path("train.svm"), p.path("test.svm"), strconv.Itoa(train.Set.Info().Dim)}
	for _, m := range measures {
		args = append(args, m.Name())
	}
	for k, d := range []classify.Data{train, test} {
		if err := writeSVM(args[1+k], d); err != nil {
			return nil, 0, err
		}
	}
	out, err := p.run(ctx, args...)
	if err != nil {
		return nil, 0, err
	}
	var answer struct {
		Seconds    float64                `json:"seconds"`
		Confusions map[string][][]float64 `json:"confusions"`
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", peerName, err)
	}
	values := make([]float64, len(measures))
	for k, m := range measures {
		if values[k], err = valueOf(m, answer.Confusions[m.Name()]); err != nil {
			return nil, 0, fmt.Errorf("%s: %s: %w", peerName, m.Name(), err)
		}
	}
	return values, answer.Seconds, nil
}

// valueOf is a measure of counts by class and prediction; of two classes the second one is
// positive. Classes without rows do not count.
func valueOf(m measure.Objective, counts [][]float64) (float64, error) {
	n := len(counts)
	if n < 2 || slices.ContainsFunc(counts, func(row []float64) bool { return len(row) != n }) {
		return 0, fmt.Errorf("the confusion %v is not square", counts)
	}
	switch m := m.(type) {
	case measure.Measure:
		if n == 2 {
			return m.Value(measure.Confusion{
				TP: counts[1][1], FN: counts[1][0], TN: counts[0][0], FP: counts[0][1],
			}), nil
		}
	case measure.Multi:
		c, err := measure.NewMulticlassConfusion(n)
		if err != nil {
			return 0, err
		}
		for i, row := range counts {
			for j, rows := range row {
				c.Add(i, j, rows)
			}
		}
		return m.OfPresentClasses(c), nil
	}
	return 0, fmt.Errorf("the confusion is of %d classes", n)
}

// writeSVM writes the rows as svmlight, with features from 0 and the numbers of the classes.
func writeSVM(path string, d classify.Data) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<16)
	return errors.Join(writeRows(w, d), w.Flush(), f.Close())
}

// writeRows writes the rows.
func writeRows(w *bufio.Writer, d classify.Data) error {
	r, err := d.Set.Read()
	if err != nil {
		return err
	}
	labels := make([]int, len(d.Set.Info().Labels))
	for c, l := range d.Set.Info().Labels {
		switch {
		case d.Task == classify.Multiclass:
			labels[c] = slices.Index(d.Labels, l.Name)
		case c == d.Positive:
			labels[c] = 1
		}
	}
	var b dataset.Block
	var line []byte
	for {
		if err := r.Next(&b); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		for i := range b.Len() {
			line = strconv.AppendInt(line[:0], int64(labels[b.Class[i]]), 10)
			index, value := b.Row(i)
			for j, f := range index {
				line = strconv.AppendUint(append(line, ' '), uint64(f), 10)
				line = strconv.AppendFloat(append(line, ':'), float64(value[j]), 'g', -1, 32)
			}
			if _, err := w.Write(append(line, '\n')); err != nil {
				return err
			}
		}
	}
}
