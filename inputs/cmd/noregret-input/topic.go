package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/inputs/kafka"
	"github.com/noregret/noregret/internal/cli/command"
)

// copyTopic writes the messages of a topic as lines.
func copyTopic(ctx context.Context, a *command.App, address string, o *sourceOptions) (err error) {
	opt := kafka.Options{Limit: o.limit, Idle: o.idle}
	if opt.TLS, err = o.client(); err != nil {
		return err
	}
	if o.sasl != "" {
		opt.SASL = kafka.Credentials{
			Mechanism: o.sasl, User: os.Getenv("NOREGRET_KAFKA_USER"), Password: os.Getenv("NOREGRET_KAFKA_PASSWORD"),
		}
		if opt.SASL.User == "" || opt.SASL.Password == "" {
			return noregret.Errorf(noregret.Usage, "--sasl", "the environment must have NOREGRET_KAFKA_USER and "+
				"NOREGRET_KAFKA_PASSWORD")
		}
	}
	if o.position != "" {
		p, err := readPosition(o.position, address, true)
		if err != nil {
			return err
		}
		opt.From = p.Offsets
		opt.Save = func(next []int64) error {
			return writePosition(o.position, position{Source: address, Offsets: next})
		}
	}
	_, err = kafka.Copy(ctx, a.Stdout, address, opt)
	return err
}

// client returns how TLS is spoken to brokers, or nil if it is not.
func (o *sourceOptions) client() (*tls.Config, error) {
	if !o.tls {
		if o.ca != "" || o.cert != "" || o.key != "" {
			return nil, noregret.Errorf(noregret.Usage, "--tls", "files for TLS are named, and TLS is not asked for")
		}
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.ca != "" {
		b, err := os.ReadFile(o.ca)
		if err != nil {
			return nil, noregret.BadInputf("--tls-ca", "%w", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(b) {
			return nil, noregret.BadInputf("--tls-ca", "%s has no certificate in PEM", o.ca)
		}
	}
	if (o.cert == "") != (o.key == "") {
		return nil, noregret.Errorf(noregret.Usage, "--tls-cert", "a client needs both --tls-cert and --tls-key")
	}
	if o.cert != "" {
		pair, err := tls.LoadX509KeyPair(o.cert, o.key)
		if err != nil {
			return nil, noregret.BadInputf("--tls-cert", "%w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
