/** Figures for Prometheus. Every instrument stands in the table below; label values are bounded. */
import { performance, monitorEventLoopDelay } from "node:perf_hooks";
import type { Histogram, Meter } from "@opentelemetry/api";
import { PrometheusExporter, PrometheusSerializer } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";

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
} as const;

export interface Metrics {
  /** For instruments of other folders; names and labels must stay as bounded as those above. */
  readonly meter: Meter;
  requestStarted(): void;
  requestEnded(): void;
  requestAnswered(method: string, route: string, status: number, ms: number): void;
  /** The exposition text a scrape gets. */
  text(): Promise<string>;
  close(): Promise<void>;
}

export const metricsContentType = "text/plain; version=0.0.4; charset=utf-8";

export function createMetrics(): Metrics {
  const reader = new PrometheusExporter({ preventServerStart: true });
  const provider = new MeterProvider({ readers: [reader] });
  const serializer = new PrometheusSerializer(undefined, false, undefined, true, true);
  const meter = provider.getMeter("millrace");
  const duration = createDuration(meter);
  const active = observeActiveRequests(meter);
  const stopDelay = observeProcess(meter);
  return {
    meter,
    requestStarted: () => active.add(1),
    requestEnded: () => active.add(-1),
    requestAnswered(method, route, status, ms) {
      duration.record(ms / 1000, {
        method,
        route,
        status: `${Math.trunc(status / 100)}xx`,
      });
    },
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

function createDuration(meter: Meter): Histogram {
  const { name, buckets, ...about } = instruments.httpRequestDuration;
  return meter.createHistogram(name, {
    ...about,
    advice: { explicitBucketBoundaries: [...buckets] },
  });
}

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
