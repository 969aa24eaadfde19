package parameterfree

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

// binarySet is a data set with two classes, or with one class against the rest.
type binarySet struct {
	name     string
	files    []string
	positive string // the positive label, "" for the default of dataset.Info.Positive
	words    bool   // messages of hashed words
	options  dataset.Options
}

// sets are the sets of two classes in the directory of data.
var sets = []binarySet{
	{name: "ijcnn1", files: []string{"ijcnn1/ijcnn1.libsvm.gz"}},
	{name: "a9a", files: []string{"a9a/a9a.libsvm.gz"}},
	{name: "w8a", files: []string{"w8a/w8a.libsvm.gz"}},
	{name: "phishing", files: []string{"phishing/phishing-first8404.libsvm.gz"}},
	{
		name: "mnist-5", positive: "5",
		files: []string{"mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz"},
	},
	{name: "covtype-2", positive: "2", files: []string{"covtype/covtype-sample10000.data.gz"}},
	{name: "covtype-7", positive: "7", files: []string{"covtype/covtype-sample10000.data.gz"}},
	{name: "kdd99-normal", positive: "normal.", files: []string{"kddcup99/kddcup.data_10_percent.gz"}},
	{name: "kdd99-satan", positive: "satan.", files: []string{"kddcup99/kddcup.data_10_percent.gz"}},
	{
		name: "hillstrom", positive: "1", files: []string{"hillstrom/hillstrom.csv.gz"},
		options: dataset.Options{LabelColumn: "visit", IgnoreColumns: []string{"conversion", "spend"}},
	},
	{name: "spambase", positive: "1", files: []string{"spambase/spambase-standardized.csv.gz"}},
	{name: "sms-spam", positive: "1", words: true, files: []string{"sms-spam/SMSSpamCollection.tsv.gz"}},
	{name: "elec2", positive: "1", files: []string{"elec2/elec2.csv.gz"}},
	{name: "weather", positive: "1", files: []string{"weather/weather.csv.gz"}},
	{name: "page-blocks0", positive: "1", files: []string{"uci-imbalanced/page-blocks0.csv.gz"}},
	{name: "abalone19", positive: "1", files: []string{"uci-imbalanced/abalone19.csv.gz"}},
	{name: "satellite", positive: "1", files: []string{"uci-imbalanced/satellite-anomaly.csv.gz"}},
	{name: "yeast-4", positive: "4", files: []string{"uci-imbalanced/yeast.csv.gz"}},
	{name: "letter-0", positive: "0", files: []string{"uci-imbalanced/letter-standardized.csv.gz"}},
}

// mostRows bounds the rows of a set: of a larger one a random part is taken.
const mostRows = 50_000

// missing returns the path of a file of the set that does not exist, "" if all do.
func (b binarySet) missing(dir string) string {
	for _, f := range b.files {
		path := filepath.Join(dir, f)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return path
		}
	}
	return ""
}

// load reads a set of the directory.
func (b binarySet) load(ctx context.Context, dir, temp string) (classify.Data, error) {
	o := b.options
	var files []string
	for _, f := range b.files {
		files = append(files, filepath.Join(dir, f))
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
	class, err := s.Info().Positive(b.positive)
	if err != nil {
		return classify.Data{}, fmt.Errorf("%s: %w", b.name, err)
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
