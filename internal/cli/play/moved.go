package play

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
)

// laboratory says how to get the program that has what has moved.
const laboratory = "of the module lab: cd lab && go build ./cmd/noregret-lab"

// movedCommands makes commands that only say that they are in the laboratory now.
func movedCommands(names ...string) (list []*cobra.Command) {
	for _, name := range names {
		list = append(list, &cobra.Command{
			Use: name, Short: "Moved to noregret-lab", Hidden: true, DisableFlagParsing: true,
			RunE: func(c *cobra.Command, _ []string) error {
				return noregret.Errorf(noregret.Usage, "", "%q has moved: it is %q %s", c.CommandPath(),
					"noregret-lab "+name, laboratory)
			},
		})
	}
	return list
}

// moved explains why a scenario of the laboratory is unknown here.
func moved(scenario string, err error) error {
	if !strings.HasPrefix(scenario, "rates-") {
		return err
	}
	return noregret.Errorf(noregret.Usage, "", "%q has moved: it is %q %s", "noregret simulate "+scenario,
		"noregret-lab simulate "+scenario, laboratory)
}
