//! Several hubs on one database: what one knows, all know.

use std::sync::Arc;

use nuncio_auth::pair::Minter;
use nuncio_hub::{
    Directory,
    directory::{Actor, Options},
    memory::MemoryHub,
};
use nuncio_protocol::ids::Organisation;

async fn hubs() -> [Directory; 2] {
    let store = Arc::new(MemoryHub::default());
    let open = |store: Arc<MemoryHub>| async {
        Directory::open(store, Options::default()).await.expect("it opens")
    };
    [open(Arc::clone(&store)).await, open(store).await]
}

#[tokio::test]
async fn each_publishes_the_keys_of_all() {
    let [one, other] = hubs().await;
    let minters = [(); 2].map(|()| Minter::generate("https://hub.example").expect("a key"));
    one.publish_keys(&minters[0].key_set()).await.expect("written");
    other.publish_keys(&minters[1].key_set()).await.expect("written");
    one.refresh().await.expect("read");
    for (hub, minter) in [(&one, &minters[0]), (&other, &minters[1])] {
        let all = hub.published_keys(minter.key_set());
        assert_eq!(all.iter().count(), 2);
        for key in
            minters.iter().flat_map(|minter| minter.key_set().iter().cloned().collect::<Vec<_>>())
        {
            assert!(all.contains(key.kid()));
        }
    }
    let before = one.state().version();
    one.publish_keys(&minters[0].key_set()).await.expect("nothing to write");
    assert_eq!(one.state().version(), before, "what is known is not written again");
}

#[tokio::test]
async fn when_a_key_was_last_shown_outlives_the_hub_it_was_shown_to() {
    let [one, other] = hubs().await;
    let acme = Organisation::parse("acme").expect("a name");
    let issued = one.new_key(&acme, "ann", &[], None, &Actor::configuration()).await;
    let issued = issued.expect("a key is made");
    let id = issued.key.id();
    assert_eq!(one.last_use(id), None);
    one.note_use(id);
    one.note_use("a key that is not there");
    let millis = |hub: &Directory| hub.last_use(id).map(|last| last.as_millis());
    let last = millis(&one);
    one.keep_uses().await.expect("written");
    other.refresh().await.expect("read");
    assert!(last.is_some());
    assert_eq!((millis(&one), millis(&other)), (last, last));
    let before = one.state().version();
    one.keep_uses().await.expect("nothing to write");
    assert_eq!(one.state().version(), before, "nothing was shown since");
}
