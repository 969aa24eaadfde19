package examples

import (
	"slices"
	"strings"
	"testing"
)

// TestNames checks that every file has a name, and every name a file.
func TestNames(t *testing.T) {
	list, err := files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		name, _ := strings.CutSuffix(f.Name(), ".yaml")
		if name != Toy && !slices.Contains(Names, name) {
			t.Errorf("%s is in no list of names", f.Name())
		}
	}
	for _, name := range append([]string{Toy}, Names...) {
		if text, ok := Get(name); !ok || !strings.Contains(string(text), "\nname: "+name+"\n") {
			t.Errorf("%s: %t\n%s", name, ok, text)
		}
	}
	if _, ok := Get("none"); ok {
		t.Error("there is an example of no name")
	}
}
