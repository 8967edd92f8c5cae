//! Traces for a collector, over our own client.

use std::{collections::HashMap, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request as HttpRequest, Response as HttpResponse};
use ipnet::IpNet;
use nuncio_net::{Client, Errand, Guard, Policy, Purpose, Refused, Request, Timeouts};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{
    ExporterBuildError, Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::{
    Resource,
    trace::{BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracer, SdkTracerProvider},
};
use tokio::runtime::Handle;
use tracing_opentelemetry::OpenTelemetryLayer;

use super::Spans;
use crate::configuration::Otlp;

/// Why traces cannot be sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The guard lets nothing go to the collector.
    #[error("endpoint")]
    Endpoint(#[from] Refused),
    /// The exporter does not take the settings.
    #[error("exporter")]
    Exporter(#[from] ExporterBuildError),
}

/// More than a collector ever says.
const LARGEST_ANSWER: usize = 64 * 1024;
/// Spans that wait; more are dropped, as a slow collector must not cost memory.
const QUEUE: usize = 2048;
/// How long a span waits at most.
const DELAY: Duration = Duration::from_secs(2);
/// The collector is an administrator's, and of none of the usual purposes; the client is its own.
const ERRAND: Errand = Errand::administrator(Purpose::File);

/// Makes the source of spans that are sent to a collector. Needs a runtime.
pub(super) fn provider(configured: &Otlp) -> Result<SdkTracerProvider, Error> {
    let url = format!("{}/v1/traces", configured.endpoint.as_str().trim_end_matches('/'));
    let sender = Sender::new(&url, configured.timeout.get())?;
    let headers: HashMap<_, _> = configured
        .headers
        .iter()
        .map(|(name, value)| (name.clone(), value.secret().expose().to_owned()))
        .collect();
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(sender)
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(url)
        .with_timeout(configured.timeout.get())
        .with_headers(headers)
        .build()?;
    let batches = BatchConfigBuilder::default()
        .with_max_queue_size(QUEUE)
        .with_scheduled_delay(DELAY)
        .build();
    let processor = BatchSpanProcessor::builder(exporter).with_batch_config(batches).build();
    let resource = Resource::builder_empty()
        .with_service_name(configured.service_name.clone())
        .with_attribute(opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .build();
    // A caller's decision counts; the ratio is for those who have not decided.
    let sampler =
        Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(configured.sample_ratio)));
    Ok(SdkTracerProvider::builder()
        .with_span_processor(processor)
        .with_sampler(sampler)
        .with_resource(resource)
        .build())
}

/// Makes the layer that turns spans of the program into spans of a trace.
pub(super) fn layer<S: Spans>(provider: &SdkTracerProvider) -> OpenTelemetryLayer<S, SdkTracer> {
    // Where in the program a span is, and on which thread, is nobody else's business.
    tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("nuncio"))
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_tracked_inactivity(false)
}

/// Sends batches through the guarded client. The exporter's thread has no runtime, so it borrows
/// this one.
#[derive(Debug)]
struct Sender {
    client: Client,
    url: nuncio_net::CheckedUrl,
    timeout: Duration,
    runtime: Handle,
}

impl Sender {
    fn new(url: &str, timeout: Duration) -> Result<Self, Refused> {
        // Collectors are next door as a rule. Metadata and link-local addresses stay closed.
        let anywhere = ["0.0.0.0/0", "::/0"];
        let mut policy = Policy::default().allow_http(ERRAND);
        for range in anywhere.iter().filter_map(|range| range.parse::<IpNet>().ok()) {
            policy = policy.open(ERRAND.purpose, range);
        }
        let client = Client::new(Guard::new(policy));
        let url = client.guard().check_url(url, ERRAND)?;
        Ok(Self { client, url, timeout, runtime: Handle::current() })
    }
}

#[async_trait]
impl HttpClient for Sender {
    async fn send_bytes(
        &self,
        request: HttpRequest<Bytes>,
    ) -> Result<HttpResponse<Bytes>, HttpError> {
        let (head, body) = request.into_parts();
        let mut request = Request::new(head.method, &self.url, body);
        *request.headers_mut() = head.headers;
        let request = request.timeouts(Timeouts::default().whole(self.timeout));
        let client = self.client.clone();
        let exchange = self.runtime.spawn(async move {
            let answer = client.send(request).await?;
            let mut response = HttpResponse::new(Bytes::new());
            *response.status_mut() = answer.status();
            *response.headers_mut() = answer.headers().clone();
            *response.body_mut() = answer.collect(LARGEST_ANSWER).await?;
            Ok::<_, nuncio_net::Error>(response)
        });
        Ok(exchange.await??)
    }
}
