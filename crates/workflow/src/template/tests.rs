use nuncio_protocol::{ids::ArtifactId, task::Artifact};
use proptest::prelude::*;

use super::*;

fn artifact(parts: Vec<Part>) -> Artifact {
    Artifact::new(ArtifactId::generate(), parts)
}

fn data(json: &str) -> Part {
    Part::data(Raw::parse_text(json).expect(json)).with_media_type("application/json")
}

fn outputs() -> BTreeMap<String, Output> {
    let text = |text: &str| Output::new(vec![artifact(vec![Part::text(text)])]);
    [
        ("topic", text("otters")),
        ("evil", text("see {{topic}} and {{evil}}")),
        (
            "report",
            Output::new(vec![
                artifact(vec![data(r#"{"title":"Otters","tags":["a","b"],"n":9007199254740993}"#)]),
                artifact(vec![Part::text("a text"), Part::url("https://x.example/y.png")]),
            ]),
        ),
        ("json", text(" {\"score\": 8}\n")),
        ("facts", Output::new(vec![artifact(vec![data("[1,2]")])])),
        (
            "file",
            Output::new(vec![artifact(vec![
                Part::raw(&b"hi"[..]).with_filename("a.bin").with_media_type("image/png"),
            ])]),
        ),
        (
            "note",
            Output::new(vec![artifact(vec![
                Part::raw(&b"hello"[..]).with_media_type("text/markdown"),
            ])]),
        ),
        (
            "each",
            Output::of_items(vec![
                text("one"),
                Output::new(vec![artifact(vec![data("{\"k\":2}")])]),
            ]),
        ),
        ("broken", Output::failed("no answer")),
        ("passed", Output::absent("skipped")),
    ]
    .map(|(name, output)| (name.to_owned(), output))
    .into()
}

#[track_caller]
fn check(template: &str, expected: &str) {
    let template = Template::parse(template).unwrap();
    let rendered = template.render_text(&outputs(), Limits::default());
    assert_eq!(rendered.as_deref(), Ok(expected), "{}", template.as_str());
}

#[track_caller]
fn check_error(template: &str, expected: &str) {
    let rendered = Template::parse(template)
        .and_then(|template| template.render_text(&outputs(), Limits::default()));
    assert_eq!(rendered.map_err(|error| error.to_string()), Err(expected.to_owned()), "{template}");
}

/// U-12, U-04: the forms of the catalogue and the issue.
#[test]
fn u22_references_lead_into_artifacts() {
    check("Write about {{topic}}!", "Write about otters!");
    check("{{ topic }}{{topic.output}}{{topic.text}}", "ottersottersotters");
    check("{{inputs.topic}}", "otters");
    check("{{report}}", "a text");
    check("{{report.data}}", r#"{"title":"Otters","tags":["a","b"],"n":9007199254740993}"#);
    check("{{report.data.title}} {{report.data.tags[1]}}", "Otters b");
    check("{{report.data['title']}} {{report.data[\"n\"]}}", "Otters 9007199254740993");
    check("{{report.parts[0].title}} {{report.parts[0].data.title}}", "Otters Otters");
    check("{{report.parts[1]}} {{report.parts[2]}}", "a text https://x.example/y.png");
    check("{{report.artifacts[1]}} {{report.artifacts[0].data.title}}", "a text Otters");
    check("{{report.artifacts[1].parts[0]}} {{report.artifacts[1].text}}", "a text a text");
    check("{{facts}} {{facts.data[1]}} {{facts[0]}}", "[1,2] 2 1");
    check("{{json.data.score}} {{json.output.score}}", "8 8");
    check(
        "{{broken}}|{{broken.error}}|{{broken.state}}|{{passed}}|{{passed.state}}|{{passed.data.x}}",
        "|no answer|failed||skipped|",
    );
    check("{{topic.state}}", "completed");
}

/// U-02, U-11: files keep out of texts, but for what can be read.
#[test]
fn files_stand_in_a_text_by_address_content_or_name() {
    check("{{file}} {{note}}", "a.bin hello");
}

#[test]
fn a_list_of_results_is_a_text_and_a_list() {
    check("{{each}}", "one\n\n{\"k\":2}");
    check("{{each.data}}", r#"["one",{"k":2}]"#);
    check("{{each[0]}} {{each[1].data.k}} {{each.data[1].k}} {{each.parts[1].k}}", "one 2 2 2");
}

/// T-17: what an agent says is data.
#[test]
fn what_is_put_in_is_never_read_again() {
    check("{{evil}}", "see {{topic}} and {{evil}}");
    check("{{evil}}{{topic}}", "see {{topic}} and {{evil}}otters");
    check("{{{topic}}}", "{otters}");
}

#[test]
fn braces_that_begin_nothing_have_a_backslash() {
    check(r"\{{topic}} {{topic}}", "{{topic}} otters");
    check("{ {topic}} } { }}", "{ {topic}} } { }}");
    check("", "");
}

#[test]
fn what_is_not_there_is_told_with_what_is() {
    check_error("{{tpoic}}", "`tpoic` is not there, but `topic` is");
    check_error("{{somewhere.else}}", "`somewhere.else` is not there");
    check_error("{{topic.dta}}", "`topic.dta`: a node has no `dta`, but `data` is");
    check_error("{{report.data.titel}}", "`report.data.titel`: there is no `titel`, but `title`");
    check_error("{{report.data.title.x}}", "`report.data.title.x`: `x` is asked of a text");
    check_error("{{report.data[0]}}", "`report.data[0]`: `[0]` is asked of an object");
    check_error("{{report.data.tags[2]}}", "`report.data.tags[2]`: the list has 2 elements");
    check_error("{{report.parts[9]}}", "`report.parts[9]`: it has 3 parts");
    check_error("{{report.parts}}", "`report.parts`: say which one: `parts[0]`");
    check_error("{{topic.data}}", "`topic.data`: there is no data part, and its text is no JSON");
    check_error("{{each[2]}}", "`each[2]`: it has 2 items");
}

#[test]
fn what_is_no_reference_is_refused_with_its_place() {
    let at = |text: &str| Template::parse(text).expect_err(text).at();
    assert_eq!(at("ab {{topic"), Some(3));
    assert_eq!(at("ab {{}} x"), Some(5));
    assert_eq!(at("{{ topic | upper }}"), Some(3));
    assert_eq!(at("{{topic[x]}}"), Some(7));
    assert_eq!(at("{{topic.}}"), Some(7));
    assert_eq!(at("{{inputs[0]}}"), Some(2));
    assert!(Template::parse(&"x".repeat(MAX_TEMPLATE_BYTES + 1)).is_err());
    assert!(Template::parse(&format!("{{{{a{}}}}}", ".a".repeat(100))).is_err());
}

/// UD-10: what is no reference stays as it is in Upal's files.
#[test]
fn in_upals_files_other_braces_are_text() {
    let template = Template::parse_upal("{{#if x}} {{topic}} {{ a | b }} {{").unwrap();
    let rendered = template.render_text(&outputs(), Limits::default());
    assert_eq!(rendered.as_deref(), Ok("{{#if x}} otters {{ a | b }} {{"));
}

#[track_caller]
fn check_rendered(template: &str, expected: Rendered) {
    let rendered = Template::parse(template).unwrap().render(&outputs(), Limits::default());
    assert_eq!(rendered, Ok(expected), "{template}");
}

#[test]
fn one_reference_alone_keeps_its_type() {
    let raw = |json: &str| Rendered::Data(Raw::parse_text(json).unwrap());
    let text = |text: &str| Rendered::Text(text.to_owned());
    check_rendered("{{facts}}", raw("[1,2]"));
    check_rendered("  {{facts.data}}\n", raw("[1,2]"));
    check_rendered("{{facts.data}}.", text("[1,2]."));
    check_rendered("{{report.data.title}}", text("Otters"));
    check_rendered("{{report.data.n}}", raw("9007199254740993"));
    check_rendered("{{topic}}", text("otters"));
    check_rendered("{{passed}}", text(""));
    check_rendered("{{report.parts[2]}}", Rendered::File(Part::url("https://x.example/y.png")));
    assert_eq!(raw("1").into_part().media_type, "application/json");
    assert_eq!(text("x").into_part().media_type, "text/plain");
}

#[test]
fn a_tree_keeps_the_types_of_what_is_put_in() {
    let tree = Tree::Map(vec![
        ("text".to_owned(), Tree::Text(Template::parse("about {{topic}}").unwrap())),
        (
            "list".to_owned(),
            Tree::List(vec![
                Tree::Text(Template::parse("{{facts.data}}").unwrap()),
                Tree::Plain(Raw::parse_text("1.50").unwrap()),
            ]),
        ),
        ("file".to_owned(), Tree::Text(Template::parse("{{report.parts[2]}}").unwrap())),
    ]);
    assert_eq!(
        tree.render(&outputs(), Limits::default()).unwrap().as_str(),
        r#"{"text":"about otters","list":[[1,2],1.50],"file":{"url":"https://x.example/y.png"}}"#
    );
    assert_eq!(tree.references().len(), 3);
}

#[test]
fn a_template_that_explodes_is_refused() {
    let large = Output::new(vec![artifact(vec![Part::text("x".repeat(1000))])]);
    let outputs: BTreeMap<_, _> = [("x".to_owned(), large)].into();
    let limits = Limits { rendered: 100_000 };
    let template = Template::parse(&"{{x}}".repeat(1000)).unwrap();
    assert_eq!(template.render_text(&outputs, limits), Err(Error::TooLarge { limit: 100_000 }));
    let limits = Limits { rendered: 999 };
    let template = Template::parse("{{x}}").unwrap();
    assert_eq!(template.render(&outputs, limits), Err(Error::TooLarge { limit: 999 }));
    let tree = Tree::List(vec![Tree::Text(template); 3]);
    assert_eq!(
        tree.render(&outputs, Limits { rendered: 2000 }),
        Err(Error::TooLarge { limit: 2000 })
    );
}

proptest! {
    #[test]
    fn any_text_is_a_template_or_refused(text in "[a-c{}.\\[\\]0-9'\" \\\\-]{0,40}") {
        if let Ok(template) = Template::parse(&text) {
            prop_assert_eq!(template.as_str(), &text);
            for reference in template.references() {
                let again = Reference::parse(&reference.to_string()).unwrap();
                prop_assert_eq!(again.to_string(), reference.to_string());
            }
            let _ = template.render(&outputs(), Limits::default());
        }
        let upal = Template::parse_upal(&text);
        prop_assert!(upal.is_ok(), "nothing is refused in Upal's files");
    }

    #[test]
    fn a_text_without_braces_is_itself(text in "[^{}\\\\]*") {
        let template = Template::parse(&text).unwrap();
        prop_assert_eq!(template.render_text(&outputs(), Limits::default()), Ok(text));
    }

    /// T-17, whatever the text is.
    #[test]
    fn a_text_of_an_agent_comes_out_as_it_went_in(text in ".{0,60}") {
        let said = Output::new(vec![artifact(vec![Part::text(text.clone())])]);
        let outputs: BTreeMap<_, _> = [("a".to_owned(), said)].into();
        let template = Template::parse("<{{a}}>").unwrap();
        let rendered = template.render_text(&outputs, Limits::default());
        prop_assert_eq!(rendered, Ok(format!("<{text}>")));
    }
}
