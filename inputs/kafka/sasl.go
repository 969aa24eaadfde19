package kafka

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/noregret/noregret"
)

// Mechanisms are the ways to prove a password to a broker.
var Mechanisms = []string{"plain", "scram-sha-256", "scram-sha-512"}

// Credentials are a name and a password for the brokers. The zero value is none.
type Credentials struct {
	Mechanism      string // one of Mechanisms, or "" for none
	User, Password string
}

// mechanism checks the credentials.
func (c Credentials) mechanism(tls bool) (sasl.Mechanism, error) {
	switch {
	case !slices.Contains(Mechanisms, c.Mechanism):
		return nil, noregret.Errorf(noregret.Usage, "", "%q is no mechanism: there are %s", c.Mechanism,
			strings.Join(Mechanisms, ", "))
	case c.User == "" || c.Password == "":
		return nil, noregret.Errorf(noregret.Usage, "", "%s needs a name and a password", c.Mechanism)
	case c.Mechanism == "plain" && !tls:
		return nil, noregret.Errorf(noregret.Usage, "", "plain without TLS would show the password to the network")
	case c.Mechanism == "plain":
		return plain.Auth{User: c.User, Pass: c.Password}.AsMechanism(), nil
	case c.Mechanism == "scram-sha-256":
		return scram.Auth{User: c.User, Pass: c.Password}.AsSha256Mechanism(), nil
	}
	return scram.Auth{User: c.User, Pass: c.Password}.AsSha512Mechanism(), nil
}
