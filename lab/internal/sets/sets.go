// Package sets lists the data sets of two or more classes in a directory of data and reads them.
package sets

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dataset"
)

// Set is a data set with two classes, with one class against the rest, or with several classes.
type Set struct {
	Name string
	// files are its parts, absolute or in the directory of data, and positive the positive label,
	// "" for the default of [dataset.Info.Positive].
	files    []string
	positive string
	words    bool // messages of hashed words
	task     classify.Task
	options  dataset.Options
}

// Two are the sets of two classes in the directory of data.
var Two = []Set{
	{Name: "ijcnn1", files: []string{"ijcnn1/ijcnn1.libsvm.gz"}},
	{Name: "a9a", files: []string{"a9a/a9a.libsvm.gz"}},
	{Name: "w8a", files: []string{"w8a/w8a.libsvm.gz"}},
	{Name: "phishing", files: []string{"phishing/phishing-first8404.libsvm.gz"}},
	{
		Name: "mnist-5", positive: "5",
		files: []string{"mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz"},
	},
	{Name: "covtype-2", positive: "2", files: []string{"covtype/covtype-sample10000.data.gz"}},
	{Name: "covtype-7", positive: "7", files: []string{"covtype/covtype-sample10000.data.gz"}},
	{Name: "kdd99-normal", positive: "normal.", files: []string{"kddcup99/kddcup.data_10_percent.gz"}},
	{Name: "kdd99-satan", positive: "satan.", files: []string{"kddcup99/kddcup.data_10_percent.gz"}},
	{
		Name: "hillstrom", positive: "1", files: []string{"hillstrom/hillstrom.csv.gz"},
		options: dataset.Options{LabelColumn: "visit", IgnoreColumns: []string{"conversion", "spend"}},
	},
	{Name: "spambase", positive: "1", files: []string{"spambase/spambase-standardized.csv.gz"}},
	{Name: "sms-spam", positive: "1", words: true, files: []string{"sms-spam/SMSSpamCollection.tsv.gz"}},
	{Name: "elec2", positive: "1", files: []string{"elec2/elec2.csv.gz"}},
	{Name: "weather", positive: "1", files: []string{"weather/weather.csv.gz"}},
	{Name: "page-blocks0", positive: "1", files: []string{"uci-imbalanced/page-blocks0.csv.gz"}},
	{Name: "abalone19", positive: "1", files: []string{"uci-imbalanced/abalone19.csv.gz"}},
	{Name: "satellite", positive: "1", files: []string{"uci-imbalanced/satellite-anomaly.csv.gz"}},
	{Name: "yeast-4", positive: "4", files: []string{"uci-imbalanced/yeast.csv.gz"}},
	{Name: "letter-0", positive: "0", files: []string{"uci-imbalanced/letter-standardized.csv.gz"}},
}

// Many are the sets of several classes.
var Many = []Set{
	{Name: "yeast", task: classify.Multiclass, files: []string{"uci-imbalanced/yeast.csv.gz"}},
	{Name: "letter", task: classify.Multiclass, files: []string{"uci-imbalanced/letter-standardized.csv.gz"}},
	{Name: "covtype", task: classify.Multiclass, files: []string{"covtype/covtype-sample10000.data.gz"}},
	{
		Name: "mnist", task: classify.Multiclass,
		files: []string{"mnist/t10k-images-idx3-ubyte.gz", "mnist/t10k-labels-idx1-ubyte.gz"},
	},
}

// Tale are the sets of the paper on SPADE and STAMP (Narasimhan, Kar and Jain 2015) that are in the
// directory. Of covtype it has the rare class of 1.6 % and here a sample, of the digits the paper
// does not say which is positive.
var Tale = []Set{
	Two[0],
	{Name: "covtype-5", positive: "5", files: []string{"covtype/covtype-sample10000.data.gz"}},
	Two[4],
}

// mostRows bounds the rows of a set: of a larger one a random part is taken.
const mostRows = 50_000

// OfFile returns the set of a file, which is read as noregret train reads it: its name is that of
// the file up to the first dot. With two labels it is of two classes, with more of several.
func OfFile(ctx context.Context, path string) (Set, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return Set{}, err
	}
	s, err := dataset.Load(ctx, []string{path}, dataset.Options{})
	if err != nil {
		return Set{}, err
	}
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	b := Set{Name: name, files: []string{path}}
	if len(s.Info().Labels) > 2 {
		b.task = classify.Multiclass
	}
	return b, s.Close()
}

// place is the path of a file of a set.
func place(dir, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

// Missing returns the path of a file of the set that does not exist, "" if all do.
func (b Set) Missing(dir string) string {
	for _, f := range b.files {
		path := place(dir, f)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return path
		}
	}
	return ""
}

// Task says what the labels of the set are.
func (b Set) Task() classify.Task { return b.task }

// Load reads a set of the directory.
func (b Set) Load(ctx context.Context, dir, temp string) (classify.Data, error) {
	o := b.options
	var files []string
	for _, f := range b.files {
		files = append(files, place(dir, f))
	}
	if b.words {
		path := filepath.Join(temp, "sms.svm")
		if err := hashWords(files[0], path); err != nil {
			return classify.Data{}, err
		}
		files = []string{path}
		o.Base = dataset.BaseZero
	}
	s, err := dataset.Load(ctx, files, o)
	if err != nil {
		return classify.Data{}, err
	}
	if rows := s.Info().Rows; rows > mostRows {
		_, part, err := s.Split(1, "part", float64(mostRows)/float64(rows), true)
		if err != nil {
			return classify.Data{}, err
		}
		s = part
	}
	if b.task != classify.Binary {
		return classify.NewData(s, b.task)
	}
	class, err := s.Info().Positive(b.positive)
	if err != nil {
		return classify.Data{}, fmt.Errorf("%s: %w", b.Name, err)
	}
	return classify.Data{Set: s, Positive: class}, nil
}

// hashWords writes messages, a label and a text with a tab between them, as rows of hashed words.
func hashWords(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // only read
	z, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	lines := bufio.NewScanner(z)
	for lines.Scan() {
		label, text, _ := strings.Cut(lines.Text(), "\t")
		writeMessage(w, label == "spam", text)
	}
	return errors.Join(lines.Err(), w.Flush(), out.Close())
}

// slots is the number of slots into which words are hashed.
const slots = 1 << 14

// writeMessage writes the numbers of the words of a message, by slot.
func writeMessage(w io.Writer, spam bool, text string) {
	counts := map[uint32]int{}
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(word)) // never fails
		counts[h.Sum32()%slots]++
	}
	mark := 0
	if spam {
		mark = 1
	}
	fmt.Fprintf(w, "%d", mark)
	for _, i := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(w, " %d:%d", i, counts[i])
	}
	fmt.Fprintln(w)
}

// Examples returns the rows of data of two classes, all of weight 1, and the number of features.
func Examples(d classify.Data) ([]classify.Example, int, error) {
	r, err := d.Set.Read()
	if err != nil {
		return nil, 0, err
	}
	var rows []classify.Example
	var b dataset.Block
	for {
		if err := r.Next(&b); err == io.EOF {
			return rows, d.Set.Info().Dim, nil
		} else if err != nil {
			return nil, 0, err
		}
		for i := range b.Len() {
			index, value := b.Row(i)
			rows = append(rows, classify.Example{
				Index: slices.Clone(index), Value: slices.Clone(value),
				Positive: int(b.Class[i]) == d.Positive, Weight: 1,
			})
		}
	}
}
