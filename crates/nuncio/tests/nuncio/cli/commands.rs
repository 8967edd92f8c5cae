//! Every command does its job, in text and in JSON.

use crate::cli::support::{User, Waiter, check, serve, serve_here};

#[test]
fn send_shows_the_task_and_what_came_of_it() {
    let (_echo, url) = serve(&["--in-memory"]);
    let user = User::new();
    check(
        &user.run(&["send", "-a", &url, "hello"]),
        0,
        "Task: ID-1\nContext: ID-2\nState: COMPLETED\nText: hello\n",
        "",
    );
    check(
        &user.run(&["send", "-a", &url, "hello", "-o", "json"]),
        0,
        concat!(
            r#"{"task":{"id":"ID-1","contextId":"ID-2","status":{"state":"TASK_STATE_COMPLETED","timestamp":"TIME"},"#,
            r#""artifacts":[{"artifactId":"ID-3","parts":[{"text":"hello"}]}],"#,
            r#""history":[{"messageId":"ID-4","contextId":"ID-2","taskId":"ID-1","role":"ROLE_USER","parts":[{"text":"hello"}]}]}}"#,
            "\n"
        ),
        "",
    );
}

#[test]
fn every_binding_and_version_gives_the_same_answer() {
    let (_echo, url) = serve(&["--in-memory"]);
    let user = User::new();
    for transport in ["jsonrpc", "http+json", "grpc"] {
        for version in ["1.0", "0.3"] {
            let words =
                ["send", "-a", &url, "--transport", transport, "--a2a-version", version, "hello"];
            let expected = "Task: ID-1\nContext: ID-2\nState: COMPLETED\nText: hello\n";
            check(&user.run(&words), 0, expected, "");
        }
    }
}

#[test]
fn parts_are_sent_in_the_order_of_the_command_line() {
    let (_echo, url) = serve(&["--in-memory"]);
    let user = User::new();
    user.write("a.txt", "abc");
    user.write("b.json", "{ \"n\": 1 }");
    let words = [
        "send",
        "-a",
        &url,
        "first",
        "--file",
        "a.txt",
        "--text",
        "second",
        "--data",
        "b.json",
        "--file",
        "https://files.example/c.pdf",
        "--media-type",
        "application/x-c",
    ];
    check(
        &user.run(&words),
        0,
        "Task: ID-1\nContext: ID-2\nState: COMPLETED\nText: first\n\
         File: a.txt (text/plain, 3 bytes)\nText: second\nData: {\"n\":1}\n\
         File: https://files.example/c.pdf (application/x-c)\n",
        "",
    );
}

#[test]
fn a_question_is_answered_with_the_command_that_was_printed() {
    let (_runtime, url) = serve_here("waiter", Waiter);
    let user = User::new();
    let output = user.command(&["send", "-a", &url, "a table"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let id = text.lines().next().unwrap().strip_prefix("Task: ").unwrap();
    assert!(text.contains("State: INPUT_REQUIRED\nQuestion: For how many people?\n"), "{text}");
    let hint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(hint, format!("Reply: nuncio send -a {url} --task-id {id} 'YOUR ANSWER'\n"));
    check(
        &user.run(&["send", "-a", &url, "--task-id", id, "four"]),
        0,
        "Task: ID-1\nContext: ID-2\nState: COMPLETED\nText: A table for four.\n",
        "",
    );
}

#[test]
fn async_returns_at_once_and_says_how_to_go_on() {
    let (_slow, url) = serve(&["--in-memory", "--", "sleep", "600"]);
    let user = User::new();
    let came = user.run(&["send", "-a", &url, "x", "--async"]);
    assert_eq!(came.out, "Task: ID-1\nContext: ID-2\nState: SUBMITTED\n");
    assert_eq!(came.err, format!("Follow: nuncio task subscribe -a {url} ID-1\n"));
    let listed = user.run(&["task", "list", "-a", &url, "-o", "json"]);
    let id = listed.out.split('"').nth(5).expect("an identifier").to_owned();
    assert_eq!(id, "ID-1", "{}", listed.out);
}

#[test]
fn tasks_are_shown_listed_and_cancelled() {
    let (_slow, url) = serve(&["--in-memory", "--", "sleep", "600"]);
    let user = User::new();
    let sent = user.command(&["send", "-a", &url, "x", "--async"]).output().unwrap();
    let sent = String::from_utf8(sent.stdout).unwrap();
    let id = sent.lines().next().unwrap().strip_prefix("Task: ").unwrap();
    let came = user.run(&["task", "list", "-a", &url]);
    assert!(came.out.ends_with("Total: 1\n") && came.out.starts_with("Task: ID-1\n"), "{came:?}");
    check(
        &user.run(&["task", "cancel", "-a", &url, id]),
        0,
        "Task: ID-1\nContext: ID-2\nState: CANCELED\n",
        "",
    );
    check(
        &user.run(&["task", "get", "-a", &url, id, "--wait", "--history", "1"]),
        0,
        "Task: ID-1\nContext: ID-2\nState: CANCELED\nHistory: User\nText: x\n",
        "warning: the task ended CANCELED\n",
    );
    let came = user.run(&["task", "cancel", "-a", &url, id, "-o", "json"]);
    assert_eq!(came.code, 1);
    assert!(came.err.contains(r#""code":"TaskNotCancelableError""#), "{came:?}");
}

#[test]
fn a_failed_task_is_a_result_like_any_other() {
    let (_failing, url) = serve(&["--in-memory", "--", "sh", "-c", "echo no paper >&2; exit 3"]);
    check(
        &User::new().run(&["send", "-a", &url, "x"]),
        0,
        "Task: ID-1\nContext: ID-2\nState: FAILED\n\
         Message: the program ended with exit status: 3: no paper\n",
        "warning: the task ended FAILED\n",
    );
}

#[test]
fn webhooks_are_set_shown_and_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let (_slow, url) = serve(&["--data-dir", data.to_str().unwrap(), "--", "sleep", "600"]);
    let user = User::new();
    let sent = user.command(&["send", "-a", &url, "x", "--async"]).output().unwrap();
    let sent = String::from_utf8(sent.stdout).unwrap();
    let id = sent.lines().next().unwrap().strip_prefix("Task: ").unwrap();
    let hook = "https://hooks.example/a2a";
    let webhook = |words: &[&str]| {
        let mut all = vec!["task", "push-config"];
        all.extend(words);
        user.run(&all)
    };
    let shown = "Webhook: mine\nTask: ID-1\nURL: https://hooks.example/a2a\n";
    let came =
        webhook(&["set", "-a", &url, id, "--url", hook, "--id", "mine", "--token", "swordfish"]);
    check(&came, 0, shown, "");
    check(&webhook(&["get", "-a", &url, id, "mine"]), 0, shown, "");
    check(&webhook(&["list", "-a", &url, id]), 0, &format!("{shown}Total: 1\n"), "");
    check(&webhook(&["delete", "-a", &url, id, "mine"]), 0, "Deleted: mine\n", "");
    check(&webhook(&["list", "-a", &url, id, "-o", "json"]), 0, "{\"configs\":[]}\n", "");
}

#[test]
fn a_card_is_shown_signed_and_verified() {
    let (_echo, url) = serve(&["--in-memory"]);
    let user = User::new();
    let came = user.run(&["card", "get", &url]);
    let expected = format!(
        "Name: echo\nDescription: Says what it hears\nVersion: 1.0.0\n\
         Interface: JSONRPC 1.0 {url}\nInterface: HTTP+JSON 1.0 {url}\n"
    );
    assert!(came.out.starts_with(&expected), "{came:?}");
    assert!(came.out.ends_with("Skill: echo: Says what it hears\nSignature: absent\n"), "{came:?}");

    let keys = user.run(&["card", "keygen", "--out", "key.pem", "--kid", "mine"]);
    assert_eq!(keys.code, 0, "{keys:?}");
    user.write("jwks.json", &keys.out);
    let raw = user.run(&["card", "get", &url, "--raw"]);
    user.write("card.json", &raw.out);
    let card = user.run(&["card", "sign", "card.json", "--key", "key.pem", "--kid", "mine"]);
    assert_eq!(card.code, 0, "{card:?}");
    user.write("signed.json", &card.out);
    check(
        &user.run(&["card", "verify", "signed.json", "--keys", "jwks.json"]),
        0,
        "Name: echo\nSignature: verified, by mine\n",
        "",
    );
    user.write("changed.json", &card.out.replace("Says what it hears", "Obeys"));
    for file in ["card.json", "changed.json"] {
        let came = user.run(&["card", "verify", file, "--keys", "jwks.json"]);
        assert_eq!(came.code, 1, "{came:?}");
    }
    let words = ["send", "-a", "card.json", "--signatures", "require", "x", "-o", "json"];
    let came = user.run(&words);
    assert!(came.code == 1 && came.err.contains("NUNCIO_ERR_SIGNATURE"), "{came:?}");
    check(
        &user.run(&[
            "send",
            "-a",
            "signed.json",
            "--keys",
            "jwks.json",
            "--signatures",
            "require",
            "hello",
        ]),
        0,
        "Task: ID-1\nContext: ID-2\nState: COMPLETED\nText: hello\n",
        "",
    );
}

#[test]
fn chat_keeps_the_context_and_answers_questions() {
    let (_runtime, url) = serve_here("waiter", Waiter);
    let came = User::new().run_with(&["chat", "-a", &url], "a table\nfour\n");
    check(
        &came,
        0,
        "For how many people?\nA table for four.\n",
        &format!("Go on: nuncio chat -a {url} --context-id ID-1\n"),
    );
}

#[test]
fn completions_and_manual_pages_are_written() {
    let user = User::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let came = user.run(&["completion", shell]);
        assert!(came.code == 0 && came.out.contains("push-config"), "{shell}");
    }
    assert_eq!(user.run(&["man", "pages"]).code, 0);
    let page = std::fs::read_to_string(user.home().join("pages/nuncio-task-get.1")).unwrap();
    assert!(page.contains(".TH nuncio-task-get 1"), "{page}");
}
