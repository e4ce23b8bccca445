package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// issue writes certificates, tokens and a kubeconfig, unless they are there from an earlier start; the tokens
// by user. "admin" may do everything, "nobody" nothing, and "robot" shows a certificate.
func issue(server string) map[string]string {
	tokens := map[string]string{}
	if known, err := clientcmd.LoadFromFile("kubeconfig"); err == nil {
		for name, user := range known.AuthInfos {
			tokens[name] = user.Token
		}
		return tokens
	}
	folder, err := os.Getwd()
	must(err)
	authority := sign("ca", nil, x509.Certificate{
		Subject: pkix.Name{CommonName: "kubeproto tests"},
		IsCA:    true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	})
	sign("server", authority, x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	sign("robot", authority, x509.Certificate{
		Subject:     pkix.Name{CommonName: "robot", Organization: []string{"robots"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	sign("accounts", authority, x509.Certificate{Subject: pkix.Name{CommonName: "accounts"}})
	tokens["admin"], tokens["nobody"] = rand.Text(), rand.Text()
	must(os.WriteFile("tokens.csv", []byte(fmt.Sprintf(
		"%s,admin,1,\"system:masters\"\n%s,nobody,2\n", tokens["admin"], tokens["nobody"],
	)), 0o600))
	config := api.NewConfig()
	config.Clusters["real"] = &api.Cluster{
		Server: server, CertificateAuthority: filepath.Join(folder, "ca.crt"),
	}
	config.AuthInfos["admin"] = &api.AuthInfo{Token: tokens["admin"]}
	config.AuthInfos["nobody"] = &api.AuthInfo{Token: tokens["nobody"]}
	config.AuthInfos["robot"] = &api.AuthInfo{
		ClientCertificate: filepath.Join(folder, "robot.crt"), ClientKey: filepath.Join(folder, "robot.key"),
	}
	for user := range config.AuthInfos {
		config.Contexts[user] = &api.Context{Cluster: "real", AuthInfo: user}
	}
	config.CurrentContext = "admin"
	must(clientcmd.WriteToFile(*config, "kubeconfig"))
	return tokens
}

type signed struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// sign writes name.crt and name.key. Without an authority, the certificate is its own.
func sign(name string, authority *signed, template x509.Certificate) *signed {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62))
	must(err)
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().AddDate(1, 0, 0)
	if authority == nil {
		authority = &signed{&template, key}
	} else {
		template.KeyUsage = x509.KeyUsageDigitalSignature
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, authority.certificate, key.Public(), authority.key)
	must(err)
	certificate, err := x509.ParseCertificate(der)
	must(err)
	secret, err := x509.MarshalECPrivateKey(key)
	must(err)
	write(name+".crt", "CERTIFICATE", der)
	write(name+".key", "EC PRIVATE KEY", secret)
	return &signed{certificate, key}
}

func write(path, kind string, der []byte) {
	must(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}
