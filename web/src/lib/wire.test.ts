import { describe, expect, it, vi } from 'vitest';

vi.stubGlobal('document', { baseURI: 'http://hub.example/base/ui/' });
const { cancelCall, readEvent, resumeCall, streamCall } = await import('./wire');

const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }, { data: { a: 1 } }] };

describe('calls', () => {
  it('are what each form has', () => {
    const rpc = streamCall({ binding: 'JSONRPC', version: '1.0' }, 'a b', message);
    expect(rpc.url.href).toBe('http://hub.example/base/agents/a%20b');
    expect(rpc.body).toMatchObject({ method: 'SendStreamingMessage', params: { message } });

    const old = streamCall({ binding: 'JSONRPC', version: '0.3' }, 'a', message);
    expect(old.body).toMatchObject({
      method: 'message/stream',
      params: {
        message: {
          kind: 'message',
          role: 'user',
          parts: [{ kind: 'text', text: 'hi' }, { kind: 'data' }],
        },
      },
    });

    const rest = streamCall({ binding: 'HTTP+JSON', version: '0.3' }, 'a', message);
    expect(rest.url.pathname).toBe('/base/agents/a/v1/message:stream');
    expect(rest.body).toMatchObject({
      message: { content: [{ text: 'hi' }, { data: { data: { a: 1 } } }] },
    });

    const cancel = cancelCall({ binding: 'HTTP+JSON', version: '1.0' }, 'a', 't');
    expect([cancel.method, cancel.url.pathname]).toEqual(['POST', '/base/agents/a/tasks/t:cancel']);
  });

  it('go on behind an event', () => {
    const call = resumeCall({ binding: 'JSONRPC', version: '1.0' }, 'a', 't', '7');
    expect(call.headers['Last-Event-ID']).toBe('7');
  });
});

describe('events', () => {
  it('are the same in every form', () => {
    const expected = { state: 'TASK_STATE_WORKING', message: { parts: [{ text: 'x' }] } };
    const forms = [
      '{"jsonrpc":"2.0","id":1,"result":{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_WORKING","message":{"parts":[{"text":"x"}]}}}}}',
      '{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_WORKING","update":{"content":[{"text":"x"}]}}}}',
      '{"jsonrpc":"2.0","id":1,"result":{"kind":"status-update","taskId":"t","status":{"state":"working","message":{"parts":[{"kind":"text","text":"x"}]}}}}',
    ];
    for (const text of forms) {
      expect(readEvent(text).statusUpdate).toMatchObject({ taskId: 't', status: expected });
    }
  });

  it('may be files of the old form', () => {
    const text =
      '{"kind":"artifact-update","taskId":"t","artifact":{"artifactId":"a","parts":[{"kind":"file","file":{"bytes":"aGk=","name":"n","mimeType":"a/b"}}]}}';
    expect(readEvent(text).artifactUpdate?.artifact.parts).toEqual([
      { raw: 'aGk=', filename: 'n', mediaType: 'a/b' },
    ]);
  });

  it('may be errors', () => {
    expect(() =>
      readEvent('{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"no such task"}}'),
    ).toThrow('no such task');
  });
});
