/** Figures for Prometheus. Every instrument stands in the table below; label values are bounded. */
import { performance, monitorEventLoopDelay } from "node:perf_hooks";
import { ValueType, type HrTime, type Meter } from "@opentelemetry/api";
import { PrometheusExporter, PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import {
  AggregationTemporality,
  DataPointType,
  MeterProvider,
  type CollectionResult,
  type HistogramMetricData,
  type MetricProducer,
} from "@opentelemetry/sdk-metrics";

export const instruments = {
  httpRequestDuration: {
    name: "http_server_request_duration_seconds",
    description: "Time to answer a request, by route pattern, method and status class",
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  },
  httpActiveRequests: {
    name: "http_server_active_requests",
    description: "Requests being answered now",
  },
  processMemory: {
    name: "process_memory_bytes",
    description: "Memory of this process, by kind",
  },
  processUptime: {
    name: "process_uptime_seconds",
    description: "Time since this process started",
  },
  eventLoopDelay: {
    name: "nodejs_eventloop_delay_seconds",
    description: "How late timers fire since the last scrape, by statistic",
  },
  jobsRunning: {
    name: "millrace_jobs_running",
    description: "Jobs this node is doing now",
  },
  incidentsOpened: {
    name: "millrace_incidents_opened_total",
    description: "Incidents this node has opened since it started",
  },
  databaseConnections: {
    name: "millrace_database_connections",
    description: "Connections of this node's pool, by state; waiting: for a connection",
  },
} as const;

export interface Metrics {
  /** For instruments of other folders; names and labels must stay as bounded as those above. */
  readonly meter: Meter;
  requestStarted(): void;
  requestEnded(): void;
  requestAnswered(method: string, route: string, status: number, ms: number): void;
  /** What the node works on, asked with every scrape. */
  observeNode(node: NodeFigures): void;
  /** The exposition text a scrape gets. */
  text(): Promise<string>;
  close(): Promise<void>;
}

export interface NodeFigures {
  jobsRunning(): number;
  incidentsOpened(): number;
  connections(): { used: number; idle: number; waiting: number };
}

export const metricsContentType = "text/plain; version=0.0.4; charset=utf-8";

export function createMetrics(): Metrics {
  const durations = createRequestDurations();
  const reader = new PrometheusExporter({ preventServerStart: true, metricProducers: [durations] });
  const provider = new MeterProvider({ readers: [reader] });
  const serializer = new PrometheusSerializer(undefined, false, undefined, true, true);
  const meter = provider.getMeter("millrace");
  const active = observeActiveRequests(meter);
  const stopDelay = observeProcess(meter);
  return {
    meter,
    requestStarted: () => active.add(1),
    requestEnded: () => active.add(-1),
    requestAnswered: (method, route, status, ms) => durations.record(method, route, status, ms),
    observeNode: (node) => observeNode(meter, node),
    async text() {
      const { resourceMetrics } = await reader.collect();
      return serializer.serialize(resourceMetrics);
    },
    async close() {
      stopDelay();
      await provider.shutdown();
    },
  };
}

interface Series {
  attributes: { method: string; route: string; status: string };
  counts: number[];
  sum: number;
  count: number;
}

interface RequestDurations extends MetricProducer {
  record(method: string, route: string, status: number, ms: number): void;
}

/**
 * The one histogram on the path of every request counts by itself and hands its buckets over when
 * they are collected: the SDK's own sorts and hashes the labels of every single value, which cost
 * as much as all our other hooks together.
 */
function createRequestDurations(): RequestDurations {
  const { buckets } = instruments.httpRequestDuration;
  const routes = new Map<string, Map<string, Series>>();
  const started = hrTime();
  return {
    record(method, route, status, ms) {
      const series = findSeries(routes, method, route, statusClass(status));
      const seconds = ms / 1000;
      let bucket = 0;
      while (bucket < buckets.length && seconds > buckets[bucket]!) bucket += 1;
      series.counts[bucket]! += 1;
      series.sum += seconds;
      series.count += 1;
    },
    collect() {
      const all = [...routes.values()].flatMap((byStatus) => [...byStatus.values()]);
      return Promise.resolve(collected(all, started));
    },
  };
}

const statusClasses = ["0xx", "1xx", "2xx", "3xx", "4xx", "5xx"] as const;
const statusClass = (status: number) => statusClasses[Math.trunc(status / 100)] ?? "0xx";

function findSeries(
  routes: Map<string, Map<string, Series>>,
  method: string,
  route: string,
  status: string,
): Series {
  let byStatus = routes.get(route);
  if (byStatus === undefined) routes.set(route, (byStatus = new Map<string, Series>()));
  const key = method + status;
  let series = byStatus.get(key);
  if (series === undefined) {
    const counts = Array.from(
      { length: instruments.httpRequestDuration.buckets.length + 1 },
      () => 0,
    );
    series = { attributes: { method, route, status }, counts, sum: 0, count: 0 };
    byStatus.set(key, series);
  }
  return series;
}

function collected(all: readonly Series[], startTime: HrTime): CollectionResult {
  const { name, description, buckets } = instruments.httpRequestDuration;
  const endTime = hrTime();
  const durations: HistogramMetricData = {
    descriptor: { name, description, unit: "", valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
    dataPointType: DataPointType.HISTOGRAM,
    dataPoints: all.map(({ attributes, counts, sum, count }) => ({
      attributes,
      startTime,
      endTime,
      value: { buckets: { boundaries: [...buckets], counts: [...counts] }, sum, count },
    })),
  };
  // The reader keeps the provider's resource and takes only the figures from here.
  const scopeMetrics = [{ scope: { name: "millrace" }, metrics: [durations] }];
  return { resourceMetrics: { scopeMetrics } as CollectionResult["resourceMetrics"], errors: [] };
}

const hrTime = (): HrTime => [Math.trunc(Date.now() / 1000), (Date.now() % 1000) * 1e6];

function observeActiveRequests(meter: Meter): { add(change: number): void } {
  const { name, ...about } = instruments.httpActiveRequests;
  let active = 0;
  meter.createObservableGauge(name, about).addCallback((result) => result.observe(active));
  return {
    add(change) {
      active += change;
    },
  };
}

function observeNode(meter: Meter, node: NodeFigures): void {
  const { jobsRunning, incidentsOpened, databaseConnections } = instruments;
  meter.createObservableGauge(jobsRunning.name, jobsRunning).addCallback((result) => {
    result.observe(node.jobsRunning());
  });
  meter.createObservableCounter(incidentsOpened.name, incidentsOpened).addCallback((result) => {
    result.observe(node.incidentsOpened());
  });
  const connections = meter.createObservableGauge(databaseConnections.name, databaseConnections);
  connections.addCallback((result) => {
    for (const [state, count] of Object.entries(node.connections()))
      result.observe(count, { state });
  });
}

/** Read when somebody scrapes, not before. */
function observeProcess(meter: Meter): () => void {
  const { processMemory, processUptime, eventLoopDelay } = instruments;
  meter.createObservableGauge(processMemory.name, processMemory).addCallback((result) => {
    const { rss, heapTotal, heapUsed, external, arrayBuffers } = process.memoryUsage();
    const kinds = {
      rss,
      heap_total: heapTotal,
      heap_used: heapUsed,
      external,
      array_buffers: arrayBuffers,
    };
    for (const [kind, bytes] of Object.entries(kinds)) result.observe(bytes, { kind });
  });
  meter.createObservableGauge(processUptime.name, processUptime).addCallback((result) => {
    result.observe(performance.now() / 1000);
  });
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  meter.createObservableGauge(eventLoopDelay.name, eventLoopDelay).addCallback((result) => {
    const statistics = {
      mean: delay.mean,
      p50: delay.percentile(50),
      p99: delay.percentile(99),
      max: delay.max,
    };
    for (const [statistic, nanoseconds] of Object.entries(statistics)) {
      if (Number.isFinite(nanoseconds)) result.observe(nanoseconds / 1e9, { statistic });
    }
    delay.reset();
  });
  return () => delay.disable();
}
