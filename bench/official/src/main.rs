//! The benchmarks of `nuncio-bench` with one more contender: the way that the official Rust
//! server goes, JSON to tree to protobuf to model, and back.

use a2a_pb::protojson_conv;
use nuncio_bench::{Codec, Contender, contenders, report};
use serde_json::Value;

fn main() {
    let mut contenders = contenders();
    contenders.push(Contender::of::<OfficialServer>());
    report::run(&contenders);
}

struct OfficialServer;

impl Codec for OfficialServer {
    const NAME: &str = "a2a-pb 0.3.2, as its server";
    type Request = a2a::SendMessageRequest;

    fn decode(body: &[u8]) -> Self::Request {
        let tree: Value = serde_json::from_slice(body).expect("the payloads are valid");
        protojson_conv::from_value(tree).expect("the payloads are valid")
    }

    fn encode(request: &Self::Request) -> String {
        protojson_conv::to_value(request).expect("what was read can be written").to_string()
    }
}
