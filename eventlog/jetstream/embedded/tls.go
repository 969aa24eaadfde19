package embedded

import (
	"crypto/tls"
	"crypto/x509"
	"os"

	"github.com/noregret/noregret"
)

// TLS names the files, in PEM, by which the nodes know each other and encrypt what they say. Every
// node shows a certificate, both when it calls and when it is called, that names its host and that
// one of the authorities has signed.
type TLS struct {
	Certificate string // the chain of this node
	Key         string // its private key
	CA          string // the authorities
}

// config reads the files. The certificate is read again for each connection, so that one can be
// renewed; they are few and last long.
func (t *TLS) config() (*tls.Config, error) {
	pem, err := os.ReadFile(t.CA)
	if err != nil {
		return nil, noregret.Errorf(noregret.Usage, t.CA, "the authorities cannot be read: %w", err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(pem) {
		return nil, noregret.Errorf(noregret.Usage, t.CA, "it has no certificate: want those of authorities, in PEM")
	}
	read := func() (*tls.Certificate, error) {
		c, err := tls.LoadX509KeyPair(t.Certificate, t.Key)
		if err != nil {
			return nil, noregret.Errorf(noregret.Usage, t.Certificate, "the certificate and its key cannot be used: %w",
				err)
		}
		return &c, nil
	}
	if _, err := read(); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: authorities, ClientCAs: authorities,
		ClientAuth:           tls.RequireAndVerifyClientCert,
		GetCertificate:       func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return read() },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return read() },
	}, nil
}
