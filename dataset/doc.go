// Package dataset reads labelled examples from disk: once as a stream, or several times in
// stored or shuffled order, in bounded memory.
//
// # From a file to rows
//
// [Open] streams inputs once; [Load] reads them once and keeps the rows, in memory or in a
// temporary file, for as many passes as a learner wants:
//
//	set, err := dataset.Load(ctx, []string{"train.svm.gz"}, dataset.Options{})
//	positive, err := set.Info().Positive("") // the class number of the positive label
//	rest, valid, err := set.Split(1, "valid", 0.2, true)
//	r, err := rest.Shuffle(1, pass)
//	var b dataset.Block
//	for {
//		if err := r.Next(&b); err == io.EOF {
//			break
//		} else if err != nil {
//			return err
//		}
//		for i := range b.Len() {
//			index, value := b.Row(i)
//			learn(index, value, int(b.Class[i]) == positive, b.RowWeight(i))
//		}
//	}
//
// Rows come in a [Block]: compressed sparse rows with 32-bit feature numbers and float32
// values. A value is the decimal of the file rounded to float64 and then to float32. Zeros are
// not stored, but a feature that is always zero still counts towards the dimension.
//
// # Formats
//
// svmlight/libsvm, CSV, JSON lines, Vowpal Wabbit's text and IDX (MNIST), plain, gzip, zstd or
// bzip2, from files or standard input. Arrays of JSON objects are read as JSON lines and ARFF as
// CSV: the bytes are rewritten first, and the digest is that of the rewritten text. The format is
// recognised by the content. docs/formats/inputs.md states the rules of each.
//
// How the columns of CSV are read (decimal marks, percent, dates, what is missing) is found in the
// first rows and kept in the [Column] of the schema. All of them are strict: a line that breaks a
// rule ends the reading with an error "file:line: ..." that shows the token and the rule. With
// Options.MaxBadLines some such lines are skipped; they are counted in Info.BadLines, and
// Info.FirstBad has the errors of the first few. With Options.OnlyLabels they become null rows, as
// do blank lines and comments, so that no row depends on another line.
//
// # Labels
//
// A label is a token. Tokens that are equal numbers (+1, 1 and 1.0) are one label, whose name is
// the shortest decimal. Every other token is a name. Labels are numbered in order of first
// appearance; this is the class number in a Block. [Info.Positive] finds the positive one.
//
// # Feature spaces
//
// A [Schema] defines the meaning of the feature numbers. Without one the space is learned: svmlight
// and IDX number their features themselves; features of CSV and JSON lines are numbered in order of
// first appearance (numeric CSV columns first). With Options.Schema, that of a trained model, the
// space is fixed: Options.Unseen decides whether a feature it lacks makes the line bad or is
// ignored and counted. If the number of names has no bound, Options.Bits hashes features into
// 2^Bits slots; values in the same slot are summed.
//
// # Determinism
//
// Rows, their order, all numbers, blocks and errors depend only on the inputs and the options, not
// on the number of parsing goroutines, the division into pieces, or whether rows are kept in memory
// or in a file. Shuffles and splits also depend on their seed.
//
// # Memory
//
// A stream holds workers+2 pieces of 256 KiB of text and their parsed rows, about 1 MiB per piece.
// A loaded set holds at most Options.MemoryLimit of rows, a shuffle Options.WindowBytes and 8 bytes
// per row of the window, a view one bit per row of its parent. In addition, a CSV or JSON lines
// input needs its dictionary of names, and an IDX input one byte per row for the labels. The length
// of the input does not matter.
//
// # The cache
//
// The temporary file and the cache (Options.CachePath) hold the same binary blocks, each with its
// checksum; docs/formats/cache.md describes them byte by byte. A cache is an input like any other
// and is several times as fast to read as text.
package dataset
