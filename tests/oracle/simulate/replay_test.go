package simulate

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"
	"testing/synctest"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
)

var (
	traces  = flag.String("traces", "", "file of traces, one JSON object a line")
	answers = flag.String("answers", "", "file to write: for each trace a line with the array of its answers")
)

// TestReplay is the program: synctest's clock is available only in a test.
func TestReplay(t *testing.T) {
	hush()
	in, err := os.Open(*traces)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(*answers)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	lines := bufio.NewReaderSize(in, 1<<20)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return
		}
		if err != nil && err != io.EOF {
			t.Fatal(err)
		}
		if err := answerLine(t, line, out); err != nil {
			t.Fatalf("trace %d: %v", n, err)
		}
	}
}

func answerLine(t *testing.T, line []byte, out io.Writer) error {
	var trace Trace
	if err := json.Unmarshal(line, &trace); err != nil {
		return err
	}
	gates := fmt.Sprintf("HPAScaleToZero=%v,HPAConfigurableTolerance=%v", trace.Options.ScaleToZero, trace.Options.ConfigurableTolerance)
	if err := utilfeature.DefaultMutableFeatureGate.Set(gates); err != nil {
		return err
	}
	var all []Answer
	var err error
	synctest.Test(t, func(t *testing.T) {
		all, err = replay(t.Context(), &trace)
	})
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(all)
}

// hush discards the log lines of failed syncs, which are common in traces.
func hush() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	utilruntime.ErrorHandlers = nil
}
