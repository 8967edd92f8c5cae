//! Whether all interfaces are the same agent.

use nuncio_protocol::{
    operation::{GetTaskRequest, Request, Response},
    task::SendMessageResponse,
};

use super::{
    check::Check,
    patient::{Patient, said},
    report::Report,
};

pub(crate) async fn check(patients: &[Patient<'_>], report: &mut Report) {
    let [first, others @ ..] = patients else { return };
    if others.is_empty() {
        return report.skip_rest_of(&["agreement"], "there is one interface alone");
    }
    let standard = describe(first);
    let different = others.iter().find(|other| describe(other) != standard);
    match different {
        None => report.pass(Check::AgreementAnswer),
        Some(other) => {
            let (one, two) = (describe(first), describe(other));
            let text = format!("{} answers {one}, {} answers {two}", first.name(), other.name());
            report.fail(Check::AgreementAnswer, text);
        }
    }
    let Some(task) = first.finished() else {
        return report.skip(Check::AgreementTask, "there is no task that has ended");
    };
    for other in others {
        let id = task.id.clone();
        let request = Request::GetTask(GetTaskRequest { tenant: None, id, history_length: None });
        let outcome = other.call(request).await;
        let text = match &outcome {
            Ok(Response::Task(found)) if found.status.state == task.status.state => continue,
            Ok(Response::Task(found)) => {
                format!("{:?} on {}", found.status.state, other.name())
            }
            _ => format!("{}: {}", other.name(), said(&outcome)),
        };
        let text = format!("{:?} on {}, {text}", task.status.state, first.name());
        return report.fail(Check::AgreementTask, text);
    }
    report.pass(Check::AgreementTask);
}

fn describe(patient: &Patient<'_>) -> String {
    match &patient.answer {
        Some(SendMessageResponse::Task(task)) => format!("a task, {:?}", task.status.state),
        Some(SendMessageResponse::Message(_)) => "a message".to_owned(),
        None => "nothing".to_owned(),
    }
}
