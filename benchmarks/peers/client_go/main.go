// What a program on client-go does with an API server: each check prints one line of JSON with its name and,
// if it failed, why. The server is the one that KUBECONFIG names.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/pager"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/retry"
	"k8s.io/client-go/util/workqueue"
)

const (
	patience  = 60 * time.Second
	namespace = "default"
)

var documents = schema.GroupVersionResource{Group: "go.example.com", Version: "v1", Resource: "documents"}

type peer struct {
	config  *rest.Config
	typed   kubernetes.Interface
	dynamic dynamic.Interface
}

func settings(name, text string) *corev1.ConfigMap {
	labels := map[string]string{"peer": "client-go"}
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Data: map[string]string{"text": text}}
}

func until(ctx context.Context, what string, holds func() bool) error {
	err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, patience, true, func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		return fmt.Errorf("waited in vain: %s", what)
	}
	return nil
}

func (p *peer) discover(ctx context.Context) error {
	client := discovery.NewDiscoveryClientForConfigOrDie(p.config)
	version, err := client.ServerVersion()
	if err != nil || version.Major != "1" {
		return fmt.Errorf("version %v: %w", version, err)
	}
	if _, err := client.ServerPreferredResources(); err != nil {
		return err
	}
	if _, err := client.OpenAPISchema(); err != nil {
		return fmt.Errorf("OpenAPI v2: %w", err)
	}
	paths, err := client.OpenAPIV3().Paths()
	if err != nil || paths["apis/apps/v1"] == nil {
		return fmt.Errorf("OpenAPI v3 has %d paths: %w", len(paths), err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client))
	mapping, err := mapper.RESTMapping(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	if err != nil || mapping.Resource.Resource != "deployments" {
		return fmt.Errorf("deployments are mapped to %v: %w", mapping, err)
	}
	return nil
}

func verbs(ctx context.Context, client kubernetes.Interface, name string) error {
	maps := client.CoreV1().ConfigMaps(namespace)
	made, err := maps.Create(ctx, settings(name, "1"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if _, err := maps.Create(ctx, settings(name, "1"), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("a second create: %v", err)
	}
	stale := made.DeepCopy()
	made.Data["text"] = "2"
	if _, err := maps.Update(ctx, made, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if _, err := maps.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		return fmt.Errorf("a stale update: %v", err)
	}
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		fresh, err := maps.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		fresh.Data["text"] = "3"
		_, err = maps.Update(ctx, fresh, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	for _, kind := range []types.PatchType{types.MergePatchType, types.StrategicMergePatchType} {
		if _, err := maps.Patch(ctx, name, kind, []byte(`{"data":{"patched":"yes"}}`), metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	applied := corev1apply.ConfigMap(name, namespace).WithData(map[string]string{"applied": "yes"})
	found, err := maps.Apply(ctx, applied, metav1.ApplyOptions{FieldManager: "client-go-peer"})
	if err != nil {
		return err
	}
	if found.Data["text"] != "3" || found.Data["patched"] != "yes" || found.Data["applied"] != "yes" {
		return fmt.Errorf("after all writes: %v", found.Data)
	}
	if err := maps.Delete(ctx, name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(made.UID))}); err != nil {
		return err
	}
	if _, err := maps.Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return fmt.Errorf("after the deletion: %v", err)
	}
	return nil
}

func (p *peer) protobuf(ctx context.Context) error {
	config := rest.CopyConfig(p.config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return verbs(ctx, kubernetes.NewForConfigOrDie(config), "go-protobuf")
}

func (p *peer) pages(ctx context.Context) error {
	maps := p.typed.CoreV1().ConfigMaps(namespace)
	for number := range 5 {
		if _, err := maps.Create(ctx, settings(fmt.Sprintf("go-page-%d", number), ""), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	options := metav1.ListOptions{LabelSelector: "peer=client-go", Limit: 2}
	count := 0
	lister := pager.New(pager.SimplePageFunc(func(options metav1.ListOptions) (runtime.Object, error) { return maps.List(ctx, options) }))
	lister.PageSize = 2
	if err := lister.EachListItem(ctx, options, func(runtime.Object) error { count++; return nil }); err != nil || count != 5 {
		return fmt.Errorf("%d objects in pages: %w", count, err)
	}
	return maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "peer=client-go"})
}

func (p *peer) informer(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	factory := informers.NewSharedInformerFactoryWithOptions(p.typed, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = "peer=client-go" }))
	maps := p.typed.CoreV1().ConfigMaps(namespace)
	if _, err := maps.Create(ctx, settings("go-informed", "before"), metav1.CreateOptions{}); err != nil {
		return err
	}
	var added, updated, deleted atomic.Int32
	informer := factory.Core().V1().ConfigMaps().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { added.Add(1) },
		UpdateFunc: func(any, any) { updated.Add(1) },
		DeleteFunc: func(any) { deleted.Add(1) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return errors.New("the cache never synced")
	}
	made, err := maps.Create(ctx, settings("go-informed-later", "x"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	made.Data["text"] = "y"
	if _, err := maps.Update(ctx, made, metav1.UpdateOptions{}); err != nil {
		return err
	}
	lister := factory.Core().V1().ConfigMaps().Lister().ConfigMaps(namespace)
	err = until(ctx, "the update in the cache", func() bool {
		found, err := lister.Get("go-informed-later")
		return err == nil && found.Data["text"] == "y"
	})
	if err != nil {
		return err
	}
	for _, name := range []string{"go-informed", "go-informed-later"} {
		if err := maps.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return until(ctx, "two additions, an update and two deletions", func() bool {
		return added.Load() == 2 && updated.Load() == 1 && deleted.Load() == 2
	})
}

func definition() *unstructured.Unstructured {
	text := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"documents.go.example.com"},
	"spec":{"group":"go.example.com","scope":"Namespaced","names":{"plural":"documents","kind":"Document"},"versions":[{"name":"v1",
	"served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","properties":{
	"spec":{"type":"object","properties":{"title":{"type":"string"}}},
	"status":{"type":"object","properties":{"words":{"type":"integer"}}}}}}}]}}`
	made := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), made); err != nil {
		panic(err)
	}
	return made
}

// A controller as people write it: an informer, a queue, and a worker that writes the status.
func (p *peer) controller(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	definitions := p.dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := definitions.Create(ctx, definition(), metav1.CreateOptions{}); err != nil {
		return err
	}
	books := p.dynamic.Resource(documents).Namespace(namespace)
	served := func() bool { _, err := books.List(ctx, metav1.ListOptions{}); return err == nil }
	if err := until(ctx, "documents to be served", served); err != nil {
		return err
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	defer queue.ShutDown()
	factory := dynamicinformer.NewDynamicSharedInformerFactory(p.dynamic, 0)
	informer := factory.ForResource(documents).Informer()
	enqueue := func(object any) {
		if key, err := cache.MetaNamespaceKeyFunc(object); err == nil {
			queue.Add(key)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: enqueue, UpdateFunc: func(_, object any) { enqueue(object) }})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	go func() {
		for {
			key, stopped := queue.Get()
			if stopped {
				return
			}
			_, name, _ := cache.SplitMetaNamespaceKey(key)
			patch := []byte(`{"status":{"words":3}}`)
			if _, err := books.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
				queue.AddRateLimited(key)
			}
			queue.Done(key)
		}
	}()
	book := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "go.example.com/v1", "kind": "Document",
		"metadata": map[string]any{"name": "moby"}, "spec": map[string]any{"title": "call me Ishmael"}}}
	if _, err := books.Create(ctx, book, metav1.CreateOptions{}); err != nil {
		return err
	}
	err = until(ctx, "the status", func() bool {
		found, err := books.Get(ctx, "moby", metav1.GetOptions{})
		words, _, _ := unstructured.NestedInt64(found.Object, "status", "words")
		return err == nil && words == 3
	})
	if err != nil {
		return err
	}
	wrong := book.DeepCopy()
	wrong.SetName("wrong")
	wrong.Object["spec"] = map[string]any{"title": int64(7)}
	if _, err := books.Create(ctx, wrong, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		return fmt.Errorf("a number for a title: %v", err)
	}
	return definitions.Delete(ctx, "documents.go.example.com", metav1.DeleteOptions{})
}

func (p *peer) elect(ctx context.Context) error {
	var leaders atomic.Int32
	order := make(chan string, 2)
	candidate := func(name string, stop context.Context) {
		lock := &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Name: "go-election", Namespace: namespace},
			Client: p.typed.CoordinationV1(), LockConfig: resourcelock.ResourceLockConfig{Identity: name}}
		leaderelection.RunOrDie(stop, leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 200 * time.Millisecond,
			ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { leaders.Add(1); order <- name },
				OnStoppedLeading: func() {},
			},
		})
	}
	first, stopFirst := context.WithCancel(ctx)
	defer stopFirst()
	second, stopSecond := context.WithCancel(ctx)
	defer stopSecond()
	ended := make(chan struct{})
	go func() { candidate("one", first); close(ended) }()
	if err := until(ctx, "a first leader", func() bool { return leaders.Load() == 1 }); err != nil {
		return err
	}
	gone := make(chan struct{})
	go func() { candidate("two", second); close(gone) }()
	stopFirst()
	<-ended
	if err := until(ctx, "a second leader", func() bool { return leaders.Load() == 2 }); err != nil {
		return err
	}
	stopSecond()
	<-gone
	if one, two := <-order, <-order; one != "one" || two != "two" {
		return fmt.Errorf("the leaders were %s and %s", one, two)
	}
	return nil
}

func (p *peer) retryWatch(ctx context.Context) error {
	maps := p.typed.CoreV1().ConfigMaps(namespace)
	listed, err := maps.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, listed.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) { return maps.Watch(ctx, options) }})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	if _, err := maps.Create(ctx, settings("go-watched", "x"), metav1.CreateOptions{}); err != nil {
		return err
	}
	defer maps.Delete(ctx, "go-watched", metav1.DeleteOptions{})
	select {
	case event := <-watcher.ResultChan():
		if event.Type != watch.Added {
			return fmt.Errorf("the first event is %v", event)
		}
		return nil
	case <-time.After(patience):
		return errors.New("no event came")
	}
}

func (p *peer) meta(ctx context.Context) error {
	client := metadata.NewForConfigOrDie(p.config)
	listed, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).List(ctx, metav1.ListOptions{})
	if err != nil || len(listed.Items) == 0 {
		return fmt.Errorf("%v: %w", listed, err)
	}
	return nil
}

func (p *peer) record(ctx context.Context) error {
	maps := p.typed.CoreV1().ConfigMaps(namespace)
	made, err := maps.Create(ctx, settings("go-event", "x"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	defer maps.Delete(ctx, "go-event", metav1.DeleteOptions{})
	broadcaster := events.NewEventBroadcasterAdapterWithContext(ctx, p.typed)
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(ctx.Done())
	broadcaster.NewRecorder("client-go-peer").Eventf(made, nil, corev1.EventTypeNormal, "Read", "Reading", "somebody has read it")
	return until(ctx, "the event", func() bool {
		found, err := p.typed.EventsV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=Read,regarding.name=go-event"})
		return err == nil && len(found.Items) == 1
	})
}

func (p *peer) scale(ctx context.Context) error {
	labels := map[string]string{"a": "b"}
	zero := int32(0)
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "go-web"}, Spec: appsv1.DeploymentSpec{
		Replicas: &zero, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}}}
	deployments := p.typed.AppsV1().Deployments(namespace)
	if _, err := deployments.Create(ctx, web, metav1.CreateOptions{}); err != nil {
		return err
	}
	defer deployments.Delete(ctx, "go-web", metav1.DeleteOptions{})
	scale, err := deployments.GetScale(ctx, "go-web", metav1.GetOptions{})
	if err != nil {
		return err
	}
	scale.Spec.Replicas = 2
	if _, err := deployments.UpdateScale(ctx, "go-web", scale, metav1.UpdateOptions{}); err != nil {
		return err
	}
	found, err := deployments.Get(ctx, "go-web", metav1.GetOptions{})
	if err != nil || *found.Spec.Replicas != 2 || found.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyAlways {
		return fmt.Errorf("the deployment is %v: %w", found, err)
	}
	return nil
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "bench" {
		bench()
		return
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		panic(err)
	}
	config.QPS = 1000
	config.Burst = 1000
	p := &peer{config: config, typed: kubernetes.NewForConfigOrDie(config), dynamic: dynamic.NewForConfigOrDie(config)}
	checks := []struct {
		name string
		work func(context.Context) error
	}{
		{"discovery", p.discover},
		{"verbs", func(ctx context.Context) error { return verbs(ctx, p.typed, "go-verbs") }},
		{"protobuf", p.protobuf},
		{"pages", p.pages},
		{"informer", p.informer},
		{"controller", p.controller},
		{"election", p.elect},
		{"retry-watcher", p.retryWatch},
		{"metadata", p.meta},
		{"events", p.record},
		{"scale", p.scale},
	}
	for _, check := range checks {
		ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
		said := ""
		if err := check.work(ctx); err != nil {
			said = err.Error()
		}
		cancel()
		line, _ := json.Marshal(map[string]string{"check": check.name, "error": said})
		fmt.Println(string(line))
	}
}
