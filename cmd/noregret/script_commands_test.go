package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/noregret/noregret/internal/picture/svgcheck"
)

// bad runs noregret and checks its exit status, that its last line on standard error is exactly the
// given one, that it printed no result, and that it left neither m.json nor a temporary file: bad 3
// 'noregret: a.svm:2: ...' train ...
func bad(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: bad STATUS ERROR args...")
	}
	status(ts, false, append([]string{args[0], "noregret"}, args[2:]...))
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile("stderr"), "\n"), "\n")
	if got := lines[len(lines)-1]; got != args[1] {
		ts.Fatalf("the error is\n  %s\nwant\n  %s", got, args[1])
	}
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("standard output: %q", out)
	}
	entries, err := os.ReadDir(ts.MkAbs("."))
	ts.Check(err)
	for _, e := range entries {
		if e.Name() == "m.json" || strings.HasPrefix(e.Name(), ".m.json") {
			ts.Fatalf("left behind: %s", e.Name())
		}
	}
}

// status runs a program and checks its exit status: status 2 noregret --nonsense. The script can
// then use "stdout" and "stderr" as after exec.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N program [args...]")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("status: %v", err)
	}
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("status: %v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("status %d, want %d", got, want)
	}
}

// checkPicture checks pictures: legible FILE.svg...
func checkPicture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: legible FILE.svg...")
	}
	for _, name := range args {
		if faults := svgcheck.Faults([]byte(ts.ReadFile(name))); len(faults) > 0 {
			ts.Fatalf("%s:\n%s", name, strings.Join(faults, "\n"))
		}
	}
}

// pack compresses a file: pack gzip|zstd FROM TO.
func pack(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: pack gzip|zstd FROM TO")
	}
	text := []byte(ts.ReadFile(args[1]))
	var b bytes.Buffer
	switch args[0] {
	case "gzip":
		w := gzip.NewWriter(&b)
		_, err := w.Write(text)
		ts.Check(errors.Join(err, w.Close()))
	case "zstd":
		w, err := zstd.NewWriter(&b)
		ts.Check(err)
		_, err = w.Write(text)
		ts.Check(errors.Join(err, w.Close()))
	default:
		ts.Fatalf("pack %s is unknown", args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), b.Bytes(), 0o666))
}

// damage copies a file with the last N bytes cut off, or with one byte inverted, counted from 0 or,
// below 0, from the end: damage cut|flip N FROM TO.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: damage cut|flip N FROM TO, or damage join FROM FROM TO")
	}
	if args[0] == "join" {
		joined := ts.ReadFile(args[1]) + ts.ReadFile(args[2])
		ts.Check(os.WriteFile(ts.MkAbs(args[3]), []byte(joined), 0o666))
		return
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	data := []byte(ts.ReadFile(args[2]))
	if args[0] == "flip" && n < 0 {
		n += len(data)
	}
	if n < 0 || n >= len(data) {
		ts.Fatalf("damage %d: the file has %d bytes", n, len(data))
	}
	if args[0] == "flip" {
		data[n] ^= 0xff
	} else {
		data = data[:len(data)-n]
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[3]), data, 0o666))
}

// replace copies a file with the first occurrence of a text replaced: replace OLD NEW FROM TO.
func replace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: replace OLD NEW FROM TO")
	}
	text := ts.ReadFile(args[2])
	if !strings.Contains(text, args[0]) {
		ts.Fatalf("%s does not contain %q", args[2], args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[3]), []byte(strings.Replace(text, args[0], args[1], 1)), 0o666))
}

// idx writes an IDX image file of n pictures of 2 by 2 pixels and their labels: idx N IMAGES
// LABELS. Picture i has the label i mod 3 and is bright at the pixel of that number.
func idx(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: idx N IMAGES LABELS")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	images := binary.BigEndian.AppendUint32([]byte{0, 0, 8, 3}, uint32(n))
	images = append(images, 0, 0, 0, 2, 0, 0, 0, 2)
	labels := binary.BigEndian.AppendUint32([]byte{0, 0, 8, 1}, uint32(n))
	for i := range n {
		picture := []byte{byte(i % 7), byte(i % 5), byte(i % 4), 10}
		picture[i%3] += 200
		images = append(images, picture...)
		labels = append(labels, byte(i%3))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), images, 0o666))
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), labels, 0o666))
}
