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
// not stored, but a feature that only ever is zero still counts for the dimension.
//
// # Formats
//
// svmlight/libsvm, CSV, JSON lines and IDX (MNIST), plain, gzip or zstd, from files or standard
// input; what they are is recognised by their content. docs/formats/inputs.md states the rules of
// each. All of them are strict: a line that breaks a rule ends the reading with an error
// "file:line: ..." that shows the token and the rule. Options.MaxBadLines lets some lines through;
// they are counted in Info.BadLines and the first few are kept in Info.FirstBad.
//
// # Labels
//
// A label is a token. Two tokens that are numbers are one label if the numbers are equal (+1, 1 and
// 1.0); its name is the shortest decimal. Every other token is a name. Labels are numbered in order
// of first appearance: that is the class number in a Block. Which one is positive is said by
// [Info.Positive].
//
// # Feature spaces
//
// A [Schema] says what the feature numbers mean. Without one the space is learned: svmlight and IDX
// number their features themselves, CSV and JSON lines get numbers in order of first appearance
// (numeric CSV columns first). With Options.Schema, the one of a trained model, the space is fixed:
// a feature it lacks makes the line bad or is ignored and counted, by Options.Unseen. For names
// without bound, Options.Bits hashes features into 2^Bits slots; values that meet are summed.
//
// # Determinism
//
// Rows, their order, all numbers, blocks and errors depend on the inputs and the options alone. The
// number of goroutines that parse, the cutting into pieces, and whether rows are kept in memory
// or in a file do not show. Shuffles and splits depend on their seed besides.
//
// # Memory
//
// A stream holds workers+2 pieces of 1 MiB of text with what was parsed of them, about 5 MiB per
// piece. A loaded set holds at most Options.MemoryLimit of rows, a shuffle Options.WindowBytes and
// 8 bytes per row of the window, a view one bit per row of its parent. A CSV or JSON lines input
// needs its dictionary of names besides, an IDX input one byte per row for the labels. The input's
// length does not matter.
//
// # The cache
//
// The temporary file and the cache (Options.CachePath) hold the same binary blocks, each with its
// checksum; docs/formats/cache.md describes them byte by byte. A cache is an input
// like any other and is read several times faster than text.
package dataset
