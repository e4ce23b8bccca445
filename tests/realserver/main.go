// Command realserver is a Kubernetes control plane for tests: etcd, kube-apiserver and kube-controller-manager
// in one process and one folder, on 127.0.0.1.
//
// It says "ready PATH" with the path of a kubeconfig, answers each line "compact" with "compacted REVISION",
// and ends at "stop", or when its input ends: it does not outlive whoever started it. Killed in any other way,
// it comes back as the same server when it is started again on its folder and port. What stands behind its own
// flags goes to kube-apiserver.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	logsapi "k8s.io/component-base/logs/api/v1"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

const patience = 2 * time.Minute // until everything has started, on a machine that is busy with a test suite

func main() {
	folder := flag.String("folder", "", "where everything is kept")
	port := flag.Int("port", 0, "where to listen; 0 is any free port")
	gates := flag.String("feature-gates", "", "those of kube-apiserver, which are other ones in each release")
	watchCache := flag.Bool("watch-cache", true, "whether kube-apiserver keeps its watch cache")
	flag.Parse()
	// Sockets are named relative to the folder, because the name of a socket has at most 107 bytes.
	must(os.Chdir(*folder))
	*folder, _ = os.Getwd()
	if *port == 0 {
		*port = freePort()
	}
	server := fmt.Sprintf("https://127.0.0.1:%d", *port)
	tokens := issue(server)
	etcd := startEtcd()
	logsapi.ReapplyHandling = logsapi.ReapplyHandlingIgnoreUnchanged // two commands, one process
	// In 1.34 this one changes a default, which it may not once the other has made flags of the feature gates.
	controllerManager := controllers.NewControllerManagerCommand()
	go run(apiserver.NewAPIServerCommand(), append([]string{
		"--etcd-servers=" + etcd.Server.Cfg.ClientURLs[0].String(),
		"--etcd-compaction-interval=24h", // but not never: then nothing watches for a compaction
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", *port),
		"--endpoint-reconciler-type=none",
		"--tls-cert-file=server.crt",
		"--tls-private-key-file=server.key",
		"--client-ca-file=ca.crt",
		"--token-auth-file=tokens.csv",
		"--authorization-mode=RBAC",
		"--service-account-issuer=" + server,
		"--service-account-key-file=accounts.key",
		"--service-account-signing-key-file=accounts.key",
		"--service-cluster-ip-range=10.0.0.0/24",
		"--disable-admission-plugins=ServiceAccount", // pods need not wait for the account of their namespace
		"--allow-privileged",
		"--feature-gates=" + *gates,
		fmt.Sprintf("--watch-cache=%t", *watchCache),
	}, flag.Args()...))
	waitFor(server+"/readyz", tokens["admin"])
	waitFor(server+"/api/v1/namespaces/default", tokens["admin"])
	go run(controllerManager, []string{
		"--kubeconfig=kubeconfig",
		"--secure-port=0",
		"--leader-elect=false",
		"--node-startup-grace-period=1h", // no kubelet sends heartbeats for the nodes of tests
		"--node-monitor-grace-period=1h",
		"--root-ca-file=ca.crt",
		"--service-account-private-key-file=accounts.key",
		"--cluster-signing-cert-file=ca.crt",
		"--cluster-signing-key-file=ca.key",
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
	})
	fmt.Println("ready", filepath.Join(*folder, "kubeconfig"))
	obey(v3client.New(etcd.Server))
}

func run(command *cobra.Command, flags []string) {
	command.SetArgs(flags)
	log.Fatalln(command.Name(), "ended:", command.Execute())
}

func startEtcd() *embed.Etcd {
	config := embed.NewConfig()
	config.Dir = "etcd"
	clients, peers := url.URL{Scheme: "unix", Host: "clients:0"}, url.URL{Scheme: "unix", Host: "peers:0"}
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{clients}, []url.URL{clients}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{peers}, []url.URL{peers}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.LogLevel = "error"
	config.UnsafeNoFsync = true // the process may die, not the machine
	etcd, err := embed.StartEtcd(config)
	must(err)
	select {
	case <-etcd.Server.ReadyNotify():
	case <-time.After(patience):
		log.Fatalln("etcd did not start")
	}
	return etcd
}

// waitFor asks until the answer is 200.
func waitFor(target, token string) {
	authority, err := os.ReadFile("ca.crt")
	must(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		request, err := http.NewRequest("GET", target, nil)
		must(err)
		request.Header.Set("Authorization", "Bearer "+token)
		if answer, err := client.Do(request); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
	}
	log.Fatalln("no answer from", target)
}

func obey(etcd *clientv3.Client) {
	for input := bufio.NewScanner(os.Stdin); input.Scan() && input.Text() != "stop"; {
		if input.Text() != "compact" {
			log.Fatalf("no such command: %q", input.Text())
		}
		fmt.Println("compacted", compact(etcd))
	}
}

// compact forgets all history. It leaves word where an API server does, so that its caches forget it too.
func compact(etcd *clientv3.Client) int64 {
	const word = "compact_rev_key"
	// The revision of a compaction stays readable, and a watch of the version before begins with it: so what is
	// forgotten ends two revisions after what anybody has seen.
	var revision int64
	for range 2 {
		last, err := etcd.Put(context.Background(), word, "0")
		must(err)
		revision = last.Header.Revision
	}
	_, err := etcd.Put(context.Background(), word, strconv.FormatInt(revision, 10))
	must(err)
	_, err = etcd.Compact(context.Background(), revision, clientv3.WithCompactPhysical())
	must(err)
	return revision
}

func freePort() int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	defer func() { must(listener.Close()) }()
	return listener.Addr().(*net.TCPAddr).Port
}

func must(err error) {
	if err != nil {
		log.Fatalln(err)
	}
}
