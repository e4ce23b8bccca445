// Command kubelet answers for the containers of a node over the part of a kubelet's API that an API server uses:
// commands run on this machine, logs and attached output come from a file, and ports lead to one on 127.0.0.1.
// What an API server speaks with it is spoken by the library of real kubelets.
//
// It says "ready PORT", and ends when its input does: it does not outlive whoever started it.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

const (
	idle     = time.Hour
	creation = 30 * time.Second
)

// kubelet stands for all containers of its node.
type kubelet struct {
	logs string // the file with what each container has written: lines, each behind its time
	port int    // where all ports of all pods lead to
}

func main() {
	certificate := flag.String("certificate", "", "the certificate, in PEM")
	key := flag.String("key", "", "its key, in PEM")
	served := &kubelet{}
	flag.StringVar(&served.logs, "logs", "", "the file that holds the log of each container")
	flag.IntVar(&served.port, "port", 0, "the port on 127.0.0.1 to which all ports of a pod lead")
	flag.Parse()
	routes := http.NewServeMux()
	routes.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", served.showLogs)
	routes.HandleFunc("/exec/{namespace}/{pod}/{container}", served.serveExec)
	routes.HandleFunc("/attach/{namespace}/{pod}/{container}", served.serveAttach)
	routes.HandleFunc("/portForward/{namespace}/{pod}", served.servePorts)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatalln(err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Println("ready", listener.Addr().(*net.TCPAddr).Port)
	log.Fatalln(http.ServeTLS(listener, routes, *certificate, *key))
}

func (k *kubelet) showLogs(response http.ResponseWriter, request *http.Request) {
	lines, err := k.lines()
	if err != nil {
		http.Error(response, err.Error(), http.StatusInternalServerError)
		return
	}
	known := len(lines)
	query := request.URL.Query()
	if tail, err := strconv.Atoi(query.Get("tailLines")); err == nil && tail < len(lines) {
		lines = lines[len(lines)-tail:]
	}
	if previous, _ := strconv.ParseBool(query.Get("previous")); previous {
		http.Error(response, "previous terminated container not found", http.StatusBadRequest)
		return
	}
	since, err := time.Parse(time.RFC3339, query.Get("sinceTime"))
	if err != nil {
		since = time.Time{}
	}
	timestamps, _ := strconv.ParseBool(query.Get("timestamps"))
	follow, _ := strconv.ParseBool(query.Get("follow"))
	for {
		for _, line := range lines {
			written, text, _ := strings.Cut(line, " ")
			if at, err := time.Parse(time.RFC3339Nano, written); err == nil && at.Before(since) {
				continue
			}
			if timestamps {
				text = line
			}
			_, _ = fmt.Fprintln(response, text)
		}
		_ = http.NewResponseController(response).Flush()
		if !follow {
			return
		}
		if lines, err = k.newLines(request.Context(), known); err != nil {
			return
		}
		known += len(lines)
	}
}

// newLines waits until the log has more lines, and returns those.
func (k *kubelet) newLines(ctx context.Context, known int) ([]string, error) {
	for {
		lines, err := k.lines()
		if err != nil || len(lines) > known {
			return lines[min(known, len(lines)):], err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (k *kubelet) serveExec(response http.ResponseWriter, request *http.Request) {
	if options, ok := streams(response, request); ok {
		remotecommand.ServeExec(
			response, request, k, request.PathValue("pod"), "", request.PathValue("container"),
			request.URL.Query()["command"], options, idle, creation, remotecommand.SupportedStreamingProtocols,
		)
	}
}

func (k *kubelet) serveAttach(response http.ResponseWriter, request *http.Request) {
	if options, ok := streams(response, request); ok {
		remotecommand.ServeAttach(
			response, request, k, request.PathValue("pod"), "", request.PathValue("container"),
			options, idle, creation, remotecommand.SupportedStreamingProtocols,
		)
	}
}

func (k *kubelet) servePorts(response http.ResponseWriter, request *http.Request) {
	options, err := portforward.NewV4Options(request)
	if err != nil {
		http.Error(response, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(
		response, request, k, request.PathValue("pod"), "", options, idle, creation,
		portforward.SupportedProtocols,
	)
}

// ExecInContainer runs a command on this machine.
func (k *kubelet) ExecInContainer(
	_ context.Context, _, _, _ string, command []string, in io.Reader, out, errs io.WriteCloser, _ bool,
	_ <-chan remotecommand.TerminalSize, _ time.Duration,
) error {
	process := exec.Command(command[0], command[1:]...)
	process.Stdin, process.Stdout, process.Stderr = in, out, errs
	err := process.Run()
	var exited *exec.ExitError
	if errors.As(err, &exited) {
		return utilexec.CodeExitError{Err: err, Code: exited.ExitCode()}
	}
	return err
}

// AttachContainer writes what the container has written, then what is written to it, until that ends.
func (k *kubelet) AttachContainer(
	_ context.Context, _, _, _ string, in io.Reader, out, _ io.WriteCloser, _ bool,
	_ <-chan remotecommand.TerminalSize,
) error {
	lines, err := k.lines()
	for _, line := range lines {
		_, text, _ := strings.Cut(line, " ")
		_, _ = fmt.Fprintln(out, text)
	}
	if in != nil && err == nil {
		_, err = io.Copy(out, in)
	}
	return err
}

// PortForward carries bytes to the one port and back.
func (k *kubelet) PortForward(_ context.Context, _, _ string, _ int32, stream io.ReadWriteCloser) error {
	defer func() { _ = stream.Close() }()
	connection, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(k.port)))
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(connection, stream)
		_ = connection.Close()
	}()
	_, _ = io.Copy(stream, connection)
	return nil
}

func (k *kubelet) lines() ([]string, error) {
	file, err := os.Open(k.logs)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	var found []string
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		found = append(found, scanner.Text())
	}
	return found, nil
}

func streams(response http.ResponseWriter, request *http.Request) (*remotecommand.Options, bool) {
	options, err := remotecommand.NewOptions(request)
	if err != nil {
		http.Error(response, err.Error(), http.StatusBadRequest)
	}
	return options, err == nil
}
