package examples

import "embed"

//go:embed *.yaml
var files embed.FS

// Names are the examples that have a name of their own, in the order of the manual.
var Names = []string{"ranking", "price", "banner", "contextual", "ab", "private"}

// Toy is the example without a name: three arms, a goal and a guardrail.
const Toy = "toy"

// Get returns the text of an example, [Toy] or one of [Names]. It reports false for another name.
func Get(name string) ([]byte, bool) {
	text, err := files.ReadFile(name + ".yaml")
	return text, err == nil
}
