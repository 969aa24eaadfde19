package privacy

import (
	"github.com/spf13/cobra"

	"github.com/noregret/noregret/internal/cli/command"
)

const privacyLong = `Plan, account for and audit differential privacy.

docs/privacy.md has the claims, the threat model and what is not protected.`

// NewCommand makes "noregret privacy" and the commands below it.
func NewCommand(a *command.App) *cobra.Command {
	return command.NewParent(&cobra.Command{
		Use:   "privacy",
		Short: "Plan, account for and audit differential privacy",
		Long:  privacyLong,
		Example: `  noregret privacy plan --epsilon 1 --delta 1e-6 --horizon 100000 --dim 20 --norm 2 --clip 1
  noregret privacy ledger data/privacy`,
	}, newPrivacyPlanCommand(a), newPrivacyLedgerCommand(a), newPrivacyAuditCommand(a))
}
