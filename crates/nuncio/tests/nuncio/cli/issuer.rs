//! Somebody who issues certificates, in PEM, each with its key.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};

pub(crate) struct Issuer(CertifiedIssuer<'static, KeyPair>);

impl Issuer {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new([]).expect("no names to be wrong");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("a certificate"))
    }

    /// Returns its own certificate.
    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// Issues one for whoever listens on this machine.
    pub(crate) fn server(&self) -> (String, String) {
        self.issue(&["localhost", "127.0.0.1"], ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// Issues one for a caller.
    pub(crate) fn client(&self, name: &str) -> (String, String) {
        self.issue(&[name], ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn issue(&self, names: &[&str], usage: ExtendedKeyUsagePurpose) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names");
        params.extended_key_usages = vec![usage];
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }
}
