// What the benchmarks ask of client-go and controller-runtime: options as one line of JSON, then a round for each
// further line, as `benchmarks/peers/_serve.py` describes it. CPU time is that of the whole process.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

type options struct {
	Work  string `json:"work"`
	Kind  string `json:"kind"`
	File  string `json:"file"`
	URL   string `json:"url"`
	CA    string `json:"ca"`
	Count int    `json:"count"`
}

type answer struct {
	Ready   bool      `json:"ready,omitempty"`
	Error   string    `json:"error,omitempty"`
	Seconds float64   `json:"seconds"`
	User    float64   `json:"user"`
	System  float64   `json:"system"`
	Events  int       `json:"events"`
	RSS     float64   `json:"rss,omitempty"`
	Waits   []float64 `json:"waits,omitempty"`
}

type round func() (answer, error)

// The custom resource of the benchmarks, as `controller-gen` would write its methods.
type book struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              bookSpec    `json:"spec,omitempty"`
	Status            *bookStatus `json:"status,omitempty"`
}

type bookSpec struct {
	Title   string   `json:"title"`
	Authors []string `json:"authors,omitempty"`
	Pages   int      `json:"pages,omitempty"`
	Sent    float64  `json:"sent,omitempty"`
}

type bookStatus struct {
	Copies             int    `json:"copies,omitempty"`
	ObservedGeneration int64  `json:"observedGeneration,omitempty"`
	Phase              string `json:"phase,omitempty"`
}

type bookList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []book `json:"items"`
}

func (b *book) DeepCopyObject() apiruntime.Object {
	out := *b
	b.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Authors = append([]string(nil), b.Spec.Authors...)
	if b.Status != nil {
		status := *b.Status
		out.Status = &status
	}
	return &out
}

func (l *bookList) DeepCopyObject() apiruntime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]book, len(l.Items))
	for at := range l.Items {
		out.Items[at] = *l.Items[at].DeepCopyObject().(*book)
	}
	return &out
}

func bench() {
	lines := bufio.NewReader(os.Stdin)
	say := func(one answer) {
		text, _ := json.Marshal(one)
		fmt.Println(string(text))
	}
	ctrl.SetLogger(logr.Discard())
	var asked options
	first, err := lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(first, &asked)
	}
	var run round
	if err == nil {
		run, err = prepare(asked)
	}
	if err != nil {
		say(answer{Error: err.Error()})
		return
	}
	say(answer{Ready: true})
	for {
		if _, err := lines.ReadBytes('\n'); err != nil {
			return
		}
		one, err := run()
		if err != nil {
			one.Error = err.Error()
		}
		say(one)
	}
}

func prepare(asked options) (round, error) {
	switch asked.Work {
	case "decode":
		return decoding(asked)
	case "list":
		return listing(asked)
	case "live":
		return watching(asked)
	case "throughput", "latency", "rss":
		return func() (answer, error) { return controlling(asked) }, nil
	}
	return nil, fmt.Errorf("no work is called %q", asked.Work)
}

// What a decoder is timed by: others on the machine disturb it least. It counts the collector's threads too.
func cpu() float64 {
	user, system := spent()
	return user + system
}

// What waits for a server is timed by.
func wall() float64 {
	return monotonic()
}

// The best of three laps of a twentieth of a second or more; CPU time is the mean of all.
func timed(clock func() float64, run func() (int, error)) round {
	runs := 1
	lap := func() (float64, int, error) {
		events := 0
		var err error
		begun := clock()
		for range runs {
			if events, err = run(); err != nil {
				return 0, 0, err
			}
		}
		return clock() - begun, events, nil
	}
	return func() (answer, error) {
		for {
			took, _, err := lap()
			if err != nil {
				return answer{}, err
			}
			if took >= 0.05 {
				break
			}
			runs = max(runs+1, min(runs*10, int(1.2*float64(runs)*0.05/max(took, 1e-6))))
		}
		best := answer{Seconds: 1e9}
		user, system := spent()
		for range 3 {
			took, events, err := lap()
			if err != nil {
				return answer{}, err
			}
			best.Seconds, best.Events = min(best.Seconds, took/float64(runs)), events
		}
		userAfter, systemAfter := spent()
		best.User, best.System = (userAfter-user)/float64(3*runs), (systemAfter-system)/float64(3*runs)
		return best, nil
	}
}

func spent() (float64, float64) {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	seconds := func(at syscall.Timeval) float64 { return float64(at.Sec) + float64(at.Usec)/1e6 }
	return seconds(usage.Utime), seconds(usage.Stime)
}

// A watch of typed pods: as JSON through the decoder that a typed client uses, or as protobuf, each event's
// object in the envelope that a server writes.
func decoding(asked options) (round, error) {
	text, err := os.ReadFile(asked.File)
	if err != nil {
		return nil, err
	}
	decoder := scheme.Codecs.UniversalDeserializer()
	wire := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	var objects [][]byte
	for _, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var event metav1.WatchEvent
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, err
		}
		if asked.Kind == "protobuf" {
			pod, _, err := decoder.Decode(event.Object.Raw, nil, nil)
			if err != nil {
				return nil, err
			}
			var packed bytes.Buffer
			if err := wire.Encode(pod, &packed); err != nil {
				return nil, err
			}
			event.Object.Raw = packed.Bytes()
			if line, err = event.Marshal(); err != nil {
				return nil, err
			}
		}
		objects = append(objects, line)
	}
	return timed(cpu, func() (int, error) {
		for _, line := range objects {
			var event metav1.WatchEvent
			var err error
			if asked.Kind == "protobuf" {
				err = event.Unmarshal(line)
			} else {
				err = json.Unmarshal(line, &event)
			}
			if err != nil {
				return 0, err
			}
			if _, _, err := decoder.Decode(event.Object.Raw, nil, nil); err != nil {
				return 0, err
			}
		}
		return len(objects), nil
	}), nil
}

// A list of pods in one body, typed.
func listing(asked options) (round, error) {
	body, err := os.ReadFile(asked.File)
	if err != nil {
		return nil, err
	}
	decoder := scheme.Codecs.UniversalDeserializer()
	if asked.Kind == "protobuf" {
		list, _, err := decoder.Decode(body, nil, nil)
		if err != nil {
			return nil, err
		}
		var packed bytes.Buffer
		if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(list, &packed); err != nil {
			return nil, err
		}
		body = packed.Bytes()
	}
	return timed(cpu, func() (int, error) {
		list, _, err := decoder.Decode(body, nil, nil)
		if err != nil {
			return 0, err
		}
		return len(list.(*corev1.PodList).Items), nil
	}), nil
}

func restConfig(asked options) *rest.Config {
	return &rest.Config{Host: asked.URL, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(asked.CA)}, QPS: -1}
}

// A watch through the typed client, once a run over a connection that stays.
func watching(asked options) (round, error) {
	configured := restConfig(asked)
	configured.GroupVersion, configured.APIPath = &corev1.SchemeGroupVersion, "/api"
	resource, known := "pods", scheme.Scheme
	if asked.Kind == "crs" {
		known = bookScheme()
		group := schema.GroupVersion{Group: bookGroup, Version: "v1"}
		configured.GroupVersion, configured.APIPath, resource = &group, "/apis", "books"
	}
	configured.NegotiatedSerializer = serializer.NewCodecFactory(known).WithoutConversion()
	client, err := rest.RESTClientFor(configured)
	if err != nil {
		return nil, err
	}
	return timed(wall, func() (int, error) {
		stream, err := client.Get().Namespace(namespace).Resource(resource).Param("watch", "true").Watch(context.Background())
		if err != nil {
			return 0, err
		}
		defer stream.Stop()
		events := 0
		for range stream.ResultChan() {
			events++
		}
		return events, nil
	}), nil
}

const bookGroup = "example.technosophos.com"

func bookScheme() *apiruntime.Scheme {
	known := apiruntime.NewScheme()
	_ = scheme.AddToScheme(known)
	group := schema.GroupVersion{Group: bookGroup, Version: "v1"}
	known.AddKnownTypeWithName(group.WithKind("Book"), &book{})
	known.AddKnownTypeWithName(group.WithKind("BookList"), &bookList{})
	metav1.AddToGroupVersion(known, group)
	return known
}

// A manager with one controller whose reconcile does nothing, or notes how long its event was on its way.
func controlling(asked options) (answer, error) {
	user, system := spent()
	manager, err := ctrl.NewManager(restConfig(asked), ctrl.Options{
		Scheme:     bookScheme(),
		Metrics:    server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	found, done := &tally{seen: map[string]bool{}, count: asked.Count}, make(chan struct{})
	reconcile := func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
		wait := 0.0
		if asked.Work == "latency" {
			var one book
			if err := manager.GetClient().Get(ctx, request.NamespacedName, &one); err != nil {
				return ctrl.Result{}, err
			}
			wait = monotonic() - one.Spec.Sent
		}
		if found.note(request.String(), wait) {
			close(done)
		}
		return ctrl.Result{}, nil
	}
	if err := ctrl.NewControllerManagedBy(manager).For(&book{}).Complete(reconciler(reconcile)); err != nil {
		return answer{}, err
	}
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	select {
	case <-done:
	case err := <-ended:
		return answer{}, fmt.Errorf("the manager ended: %w", err)
	case <-ctx.Done():
		return answer{}, fmt.Errorf("only %d of %d objects were reconciled", len(found.seen), asked.Count)
	}
	result := answer{Events: len(found.seen), Waits: found.waits}
	if asked.Work == "rss" {
		time.Sleep(time.Second)
		runtime.GC()
		result.RSS = resident()
	}
	userAfter, systemAfter := spent()
	result.User, result.System = userAfter-user, systemAfter-system
	cancel()
	<-ended
	if asked.Work == "throughput" {
		began, err := beganAt(asked.URL)
		if err != nil {
			return answer{}, err
		}
		result.Seconds = found.ended - began
	}
	return result, nil
}

type reconciler func(context.Context, ctrl.Request) (ctrl.Result, error)

func (r reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return r(ctx, request)
}

type tally struct {
	sync.Mutex
	seen  map[string]bool
	waits []float64
	count int
	ended float64
}

// Note an object; true for the one that completes the count.
func (t *tally) note(key string, wait float64) bool {
	t.Lock()
	defer t.Unlock()
	if t.seen[key] {
		return false
	}
	t.seen[key] = true
	if wait > 0 {
		t.waits = append(t.waits, wait*1000)
	}
	if len(t.seen) != t.count {
		return false
	}
	t.ended = monotonic()
	return true
}

// The clock by which the server says when it sent something.
func monotonic() float64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return float64(now.Sec) + float64(now.Nsec)/1e9
}

func resident() float64 {
	text, _ := os.ReadFile("/proc/self/statm")
	pages, _ := strconv.Atoi(strings.Fields(string(text))[1])
	return float64(pages*os.Getpagesize()) / 1e6
}

func beganAt(url string) (float64, error) {
	response, err := http.Get(url + "/began")
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	var said struct{ Began float64 }
	return said.Began, json.Unmarshal(body, &said)
}
