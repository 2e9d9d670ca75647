"""Makes runs, exports them, and reads the exports with programs that others made for their formats."""

import base64
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

HOSTILE = "</script>--> \"x\" 'y' ;#: %%{init: {}}%% --- <!-- ]]> \u202e\uffff & \\"
STATES = ["plan", "fan-out", "完了", "class", "end"]


class Project:
    def __init__(self, flow, directory):
        self.flow_path, self.directory, self.commands = flow, pathlib.Path(directory), 0
        subprocess.run(["git", "init", "--quiet", directory], check=True)
        self.flow("init")
        states = {
            state: {"type": "agent", "description": HOSTILE.replace("\uffff", ""), "transition": {"next": after}}
            for state, after in zip(STATES, [STATES[1:2], ["plan", *STATES[2:3]], STATES[3:4], STATES[4:], []])
        }
        graph = {"initial": "plan", "states": states}
        (self.directory / ".flow/workflows/odd.graph.yaml").write_text(json.dumps(graph, ensure_ascii=False))

    def flow(self, *arguments):
        """Each command runs a minute after the one before."""
        at = datetime.datetime(2026, 5, 20, 14, 30) + datetime.timedelta(minutes=self.commands)
        self.commands += 1
        own = {"__FLOW_NOW": f"{at.isoformat()}Z", "__FLOW_SEED": str(self.commands), "TZ": "America/New_York"}
        ran = subprocess.run(
            [self.flow_path, *arguments], cwd=self.directory, env=os.environ | own, check=True, capture_output=True
        )
        return ran.stdout.decode()

    def report(self, run, step, status, *more):
        data = json.dumps({"status": status})
        self.emit(run, "status_change", step, data, *more)

    def emit(self, run, kind, step, data, *more):
        self.flow("emit", "--workflow", "odd", "--run-id", run, "--type", kind, "--step", step, "--data", data, *more)

    def export(self, run, form, *more):
        return self.flow("export", run, "--format", form, *more)


def make(project):
    """An open run with hostile texts, and one that failed."""
    project.flow("start", "odd", "--id", "open", "--goal", f"{HOSTILE}\nnext", "--session", "s1")
    project.report("open", "plan", "completed")
    project.report("open", "fan-out", "running")
    for unit, status in [(HOSTILE, "running"), ("title section x", "failed"), ("2026-05-20", "completed")]:
        project.report("open", "fan-out", status, "--unit", unit)
    project.report("open", "fan-out", "failed")
    project.report("open", "fan-out", "running")
    project.flow("record-activity", "--run-id", "open", "--id", "a", "--summary", f"{HOSTILE}\nnext", "--session", "s1")
    project.emit("open", "waiting_for_user", "fan-out", json.dumps({"prompt": f"{HOSTILE}\n?"}))
    project.flow("block", "open", "--reason", HOSTILE)
    project.flow("start", "odd", "--id", "over")
    project.flow("record-activity", "--run-id", "over", "--id", "a", "--advance")
    project.flow("record-activity", "--run-id", "over", "--id", "b", "--advance", "完了")
    project.flow("fail", "over", "--reason", "enough")


def log(project, run):
    return json.loads(project.flow("log", run, "--json"))["events"]


def read_diagrams(project, reader, mermaid):
    texts = [project.export(run, form) for run in ["open", "over"] for form in ["mermaid", "gantt"]]
    pages = [project.export(run, "html") for run in ["open", "over"]]
    given = json.dumps({"diagrams": texts, "pages": pages})
    own = os.environ | {"TZ": "America/New_York"}
    ran = subprocess.run(["node", reader, mermaid], input=given.encode(), env=own, check=True, capture_output=True)
    read = json.loads(ran.stdout)
    machine, gantt, other, _ = read["diagrams"]
    classes = {state: names for state, names in machine["states"] if not state.startswith("root_")}
    assert classes == {"plan": ["done"], "fan_out": ["waits"], "完了": [], "class_": [], "end": []}, classes
    assert machine["classes"] == ["done", "waits"], machine
    classes = dict(map(tuple, ((state, tuple(names)) for state, names in other["states"])))
    assert classes["plan"] == classes["fan_out"] == ("done",), other
    names = [task["name"] for task in gantt["tasks"]]
    assert len(names) == 9 and names[0] == "1 · plan" and "1 · 2026-05-20" in names, names
    assert {task["section"] for task in gantt["tasks"]} == {"plan", "fan-out"}, gantt
    assert all(task["from"] <= task["to"] for task in gantt["tasks"]), gantt
    assert any(task["tags"] == ["active", "crit"] for task in gantt["tasks"]), gantt
    for run, page in zip(["open", "over"], read["pages"]):
        shown = json.loads(project.flow("show", run, "--json"))
        assert page["scripts"] == 0 and page["links"] == [], page
        # One row for all records about one piece of work.
        work = {(record["phase"], record["id"]) for record in shown["activities"]}
        assert page["activities"] == len(work), page
        assert page["events"] == len(log(project, run)), page
        assert "</script>--> \"x\" 'y'" in page["text"] or run == "over", page


def read_svg(project):
    for run in ["open", "over"]:
        root = xml.etree.ElementTree.fromstring(project.export(run, "svg"))
        assert root.tag == "{http://www.w3.org/2000/svg}svg", root.tag
        rules = root.find("{http://www.w3.org/2000/svg}style").text
        shapes = {name for element in root.iter() for name in (element.get("class") or "").split()}
        assert all(f".{shape}" in rules for shape in shapes - {"timeline", "lane", "bar", "fold", "within"}), shapes


def read_cloudevents(project):
    for run in ["open", "over"]:
        batch = json.loads(project.export(run, "cloudevents"))
        events = log(project, run)
        assert len(batch) == len(events)
        sequences = [one["sequence"] for one in batch]
        assert sequences == sorted(set(sequences)), sequences
        for one, event in zip(batch, events):
            read = JSONFormat().read(CloudEvent, json.dumps(one))
            assert read.get_specversion() == "1.0" and read.get_source() == f"urn:flow:run:{run}"
            assert read.get_type() == f"ai.synapti.flow.{event['type']}" and read.get_id() == event["id"]
            assert read.get_time() == datetime.datetime.fromisoformat(event["at"]), read.get_time()
            assert read.get_datacontenttype() == "application/json" and read.get_data().items() <= event.items()
            assert read.get_extension("sequence") == f"{event['seq']:015}"


def in_base64(value):
    """OTLP writes ids in hexadecimal, where JSON of Protocol Buffers has base64."""
    if isinstance(value, list):
        return [in_base64(item) for item in value]
    if not isinstance(value, dict):
        return value
    ids = {"traceId", "spanId", "parentSpanId"}
    encoded = lambda text: base64.b64encode(bytes.fromhex(text)).decode()
    return {key: encoded(item) if key in ids else in_base64(item) for key, item in value.items()}


def read_otlp(project):
    for run in ["open", "over"]:
        text = project.export(run, "otlp-json")
        assert text.count("\n") == 1
        request = json_format.ParseDict(in_base64(json.loads(text)), ExportTraceServiceRequest())
        (resource,) = request.resource_spans
        (scope,) = resource.scope_spans
        assert {one.key: one.value.string_value for one in resource.resource.attributes}["service.name"] == "flow"
        root, *spans = scope.spans
        ids = {span.span_id for span in scope.spans}
        assert len(ids) == len(scope.spans) and all(len(one) == 8 and any(one) for one in ids)
        assert {span.trace_id for span in scope.spans} == {root.trace_id} and len(root.trace_id) == 16
        assert not root.parent_span_id and all(span.parent_span_id in ids for span in spans)
        assert root.status.code == (2 if run == "over" else 0), root.status
        assert [event.name for event in root.events] == [event["type"] for event in log(project, run)]
        for span in scope.spans:
            assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano and span.kind == 1, span
        open_spans = [span for span in scope.spans if any(one.key == "flow.open" for one in span.attributes)]
        assert bool(open_spans) == (run == "open"), open_spans
        assert all(span.end_time_unix_nano == root.end_time_unix_nano for span in open_spans)
        in_doubt = [span for span in spans if any(one.key == "flow.in_doubt" for one in span.attributes)]
        assert not any(span in open_spans for span in in_doubt), in_doubt


def read_chrome_trace(project):
    """The rules of the trace event format for the phases that flow writes."""
    for run in ["open", "over"]:
        trace = json.loads(project.export(run, "chrome-trace"))
        threads, slices = {}, {}
        for event in trace["traceEvents"]:
            assert isinstance(event["name"], str) and isinstance(event["ts"], int) and event["pid"] == 1, event
            if event["ph"] == "M":
                assert event["name"] in {"process_name", "thread_name", "thread_sort_index"}, event
                if event["name"] == "thread_name":
                    assert event["args"]["name"] and event["tid"] not in threads, event
                    threads[event["tid"]] = event["args"]["name"]
            elif event["ph"] == "X":
                assert isinstance(event["dur"], int) and event["dur"] >= 0, event
                slices.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
            else:
                assert event["ph"] == "i" and event["s"] in {"g", "p", "t"}, event
        assert slices.keys() <= threads.keys()
        for spans in slices.values():
            assert all(one[1] <= after[0] for one, after in zip(spans, spans[1:])), spans


def main():
    flow, reader, mermaid = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        project = Project(str(pathlib.Path(flow).resolve()), directory)
        make(project)
        read_diagrams(project, reader, mermaid)
        read_svg(project)
        read_cloudevents(project)
        read_otlp(project)
        read_chrome_trace(project)
    print("exports: Mermaid, an HTML and an XML reader, cloudevents and opentelemetry-proto read what flow writes")


main()
