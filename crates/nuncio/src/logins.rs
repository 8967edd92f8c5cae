//! Credentials that `nuncio auth login` keeps, each for the one origin it belongs to.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use http::HeaderName;
use nuncio_client::{
    Credentials, Origin,
    credentials::{
        ApiKey, Basic, Bearer, KeyPlace, Kind as Required, OAuth2ClientCredentials, required,
    },
};
use nuncio_net::{Client as NetClient, Secret, Trust};
use nuncio_protocol::{
    card::AgentCard,
    json::{self, FromJson, Reader, ToJson, Writer},
};

use crate::{failure::Failure, settings::config_folder};

/// What proves who we are, before it is known where it goes.
#[derive(Clone, Debug)]
pub(crate) enum Proof {
    /// A bearer token.
    Bearer(Secret),
    /// A key. The card says where it goes, unless a place is named.
    ApiKey { key: Secret, place: Option<Place> },
    /// A user's name and password.
    Basic { user: String, password: Secret },
    /// A token that is fetched from an authorization server.
    ClientCredentials { token_url: String, id: String, secret: Secret, scopes: Vec<String> },
}

/// Where a key goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// `header`, `query` or `cookie`.
    pub(crate) location: String,
    pub(crate) name: String,
}

/// Everything that was stored.
#[derive(Debug, Default)]
pub(crate) struct Logins {
    path: PathBuf,
    entries: Vec<Login>,
}

#[derive(Debug)]
pub(crate) struct Login {
    pub(crate) origin: String,
    pub(crate) proof: Proof,
}

impl Proof {
    /// Returns its kind, as `nuncio auth list` shows it.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Bearer(_) => "bearer",
            Self::ApiKey { .. } => "api-key",
            Self::Basic { .. } => "basic",
            Self::ClientCredentials { .. } => "client-credentials",
        }
    }

    /// Makes it a credential for one origin. The card says where a key goes.
    pub(crate) fn bind(
        &self,
        origin: &Origin,
        card: Option<&AgentCard>,
        net: &NetClient,
    ) -> Result<Arc<dyn Credentials>, Failure> {
        let unfit = |_| {
            Failure::usage(format!(
                "the {} cannot be sent: it has characters that no header can hold",
                self.kind()
            ))
        };
        let origin = origin.clone();
        Ok(match self {
            Self::Bearer(token) => Arc::new(Bearer::new(origin, token).map_err(unfit)?),
            Self::Basic { user, password } => {
                Arc::new(Basic::new(origin, user, password).map_err(unfit)?)
            }
            Self::ApiKey { key, place } => {
                let place = place.clone().or_else(|| card.and_then(declared_place));
                Arc::new(ApiKey::new(origin, key_place(place)?, key).map_err(unfit)?)
            }
            Self::ClientCredentials { token_url, id, secret, scopes } => {
                let endpoint = (token_url.as_str(), Trust::Administrator);
                let client = (id.as_str(), secret.clone());
                let credentials = OAuth2ClientCredentials::new(net, origin, endpoint, client)
                    .map_err(|refused| Failure::from(nuncio_client::Error::Refused(refused)))?;
                Arc::new(credentials.scopes(scopes.iter().map(String::as_str)))
            }
        })
    }
}

/// Returns where a card wants a key.
fn declared_place(card: &AgentCard) -> Option<Place> {
    required(card).into_iter().flat_map(|requirement| requirement.all_of).find_map(
        |kind| match kind {
            Required::ApiKey { location, name } => Some(Place { location, name }),
            _ => None,
        },
    )
}

fn key_place(place: Option<Place>) -> Result<KeyPlace, Failure> {
    let Some(Place { location, name }) = place else {
        return Ok(KeyPlace::Header(HeaderName::from_static("x-api-key")));
    };
    match location.as_str() {
        "query" => Ok(KeyPlace::Query(name)),
        "cookie" => Ok(KeyPlace::Cookie(name)),
        _ => HeaderName::try_from(name.as_str())
            .map(KeyPlace::Header)
            .map_err(|_| Failure::invalid_card(format!("`{name}` is no name of a header"))),
    }
}

impl Logins {
    /// Reads the file. That there is none is no error.
    pub(crate) fn load() -> Result<Self, Failure> {
        let Some(folder) = config_folder() else { return Ok(Self::default()) };
        let path = folder.join("nuncio").join("credentials.json");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { path, entries: Vec::new() });
            }
            Err(error) => return Err(Failure::file("read", &path, &error)),
        };
        refuse_others(&path)?;
        let entries = json::read_with(&text, read_entries).map_err(|error| {
            Failure::internal(format!("read {}: {error}", path.display()))
                .hint("mend the file, or delete it and log in again")
        })?;
        Ok(Self { path, entries })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Login> {
        self.entries.iter()
    }

    /// Returns what is kept for an origin.
    pub(crate) fn get(&self, origin: &Origin) -> Option<&Proof> {
        let origin = origin.to_string();
        self.entries.iter().find(|login| login.origin == origin).map(|login| &login.proof)
    }

    /// Keeps a credential, in place of the one that was there.
    pub(crate) fn put(&mut self, origin: &Origin, proof: Proof) -> Result<(), Failure> {
        self.entries.retain(|login| login.origin != origin.to_string());
        self.entries.push(Login { origin: origin.to_string(), proof });
        self.entries.sort_by(|one, other| one.origin.cmp(&other.origin));
        self.save()
    }

    /// Forgets a credential, and tells whether there was one.
    pub(crate) fn remove(&mut self, origin: &Origin) -> Result<bool, Failure> {
        let before = self.entries.len();
        self.entries.retain(|login| login.origin != origin.to_string());
        self.save()?;
        Ok(self.entries.len() < before)
    }

    /// Writes all of it to a new file that only the user may read, then puts that in place.
    fn save(&self) -> Result<(), Failure> {
        let Some(folder) = self.path.parent() else {
            return Err(Failure::internal("neither XDG_CONFIG_HOME nor HOME is set")
                .hint("set HOME: credentials are kept below it"));
        };
        let failed = |error: io::Error| Failure::file("write", &self.path, &error);
        fs::create_dir_all(folder).map_err(failed)?;
        let fresh = self.path.with_extension(format!("new.{}", std::process::id()));
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let text = json::write_with(|writer| {
            writer.object(|document| {
                document.with("credentials", |writer| {
                    writer.array(&self.entries, |writer, login| login.write(writer));
                });
            });
        });
        let written = options.open(&fresh).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        let moved = written.and_then(|()| fs::rename(&fresh, &self.path));
        if moved.is_err() {
            // It may not even be there.
            let _ = fs::remove_file(&fresh);
        }
        moved.map_err(failed)
    }
}

/// Refuses a file that others can read, as ssh does.
#[cfg(unix)]
fn refuse_others(path: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = fs::metadata(path).map_err(|error| Failure::file("read", path, &error))?;
    let others = metadata.permissions().mode() & 0o077;
    if others == 0 {
        return Ok(());
    }
    Err(Failure::internal(format!("{} can be read by others", path.display()))
        .hint(format!("chmod 600 {}", path.display())))
}

#[cfg(not(unix))]
fn refuse_others(_: &Path) -> Result<(), Failure> {
    Ok(())
}

impl ToJson for Login {
    fn write(&self, writer: &mut Writer) {
        writer.object(|login| {
            login.member("origin", &self.origin);
            login.member("kind", self.proof.kind());
            match &self.proof {
                Proof::Bearer(token) => login.member("secret", token.expose()),
                Proof::ApiKey { key, place } => {
                    login.member("secret", key.expose());
                    if let Some(place) = place {
                        login.member("location", &place.location);
                        login.member("name", &place.name);
                    }
                }
                Proof::Basic { user, password } => {
                    login.member("user", user);
                    login.member("secret", password.expose());
                }
                Proof::ClientCredentials { token_url, id, secret, scopes } => {
                    login.member("tokenUrl", token_url);
                    login.member("user", id);
                    login.member("secret", secret.expose());
                    login.member("scopes", &scopes.join(" "));
                }
            }
        });
    }
}

impl FromJson for Login {
    fn read(reader: &mut Reader<'_>) -> Result<Self, json::Error> {
        let mut members = std::collections::BTreeMap::new();
        reader.members(|reader, key| {
            members.insert(key.into_owned(), reader.string()?.into_owned());
            Ok(())
        })?;
        let mut take = |key: &str| members.remove(key).ok_or_else(|| json::Error::missing(key));
        let origin = take("origin")?;
        let secret = Secret::new(take("secret")?);
        let proof = match take("kind")?.as_str() {
            "bearer" => Proof::Bearer(secret),
            "api-key" => {
                let place = match (take("location"), take("name")) {
                    (Ok(location), Ok(name)) => Some(Place { location, name }),
                    _ => None,
                };
                Proof::ApiKey { key: secret, place }
            }
            "basic" => Proof::Basic { user: take("user")?, password: secret },
            "client-credentials" => Proof::ClientCredentials {
                token_url: take("tokenUrl")?,
                id: take("user")?,
                secret,
                scopes: take("scopes")?.split_whitespace().map(str::to_owned).collect(),
            },
            other => return Err(json::Error::shape(format!("`{other}` is no kind of credential"))),
        };
        Ok(Self { origin, proof })
    }
}

fn read_entries(reader: &mut Reader<'_>) -> Result<Vec<Login>, json::Error> {
    let mut entries = Vec::new();
    reader.members(|reader, key| {
        if key != "credentials" {
            return reader.skip();
        }
        reader.items(|reader| {
            entries.push(Login::read(reader)?);
            Ok(())
        })
    })?;
    Ok(entries)
}
