package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/noregret/noregret/internal/named"
)

// Choice is a flag whose value is one of a few words.
type Choice struct {
	value   *string
	allowed []string
}

// NewChoice returns a flag value that sets *value and allows only the given words. The default is
// the present value.
func NewChoice(value *string, allowed ...string) *Choice {
	return &Choice{value: value, allowed: allowed}
}

// String implements pflag.Value.
func (c *Choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}

// Set implements pflag.Value.
func (c *Choice) Set(s string) error {
	if !slices.Contains(c.allowed, s) {
		return fmt.Errorf("%swant %s", named.DidYouMean(s, c.allowed), strings.Join(c.allowed, " or "))
	}
	*c.value = s
	return nil
}

// Type implements pflag.Value; help shows it behind the flag's name.
func (c *Choice) Type() string { return strings.Join(c.allowed, "|") }
