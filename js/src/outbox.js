// What a Local has still to send, kept in a directory through restarts. For Node only.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';

/** When a process began, by which a later one of the same number differs; '' where that is not known. */
function born(pid) {
  try { return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ')[19]; } catch { return ''; }
}

function runs(pid) {
  try { process.kill(pid, 0); } catch (e) { return e.code === 'EPERM'; }
  return true;
}

/** The file EXPERIMENT.outbox.json of a directory, of the same form as the Go client's. */
export class Outbox {
  #experiment;
  #path;

  /** Opens the outbox; an error if another process has it open. */
  constructor(directory, experiment) {
    mkdirSync(directory, { recursive: true });
    this.#experiment = experiment;
    this.#path = join(directory, `${encodeURIComponent(experiment)}.outbox.json`);
    const lock = `${this.#path}.pid`;
    for (let tries = 0; ; tries++) {
      try {
        writeFileSync(lock, `${process.pid} ${born(process.pid)}`, { flag: 'wx' });
        break;
      } catch (e) {
        if (e.code !== 'EEXIST') throw e;
        const [pid, began] = readFileSync(lock, 'utf8').split(' ');
        if (tries > 0 || (Number(pid) > 0 && runs(Number(pid)) && born(pid) === began)) {
          throw new Error(`${this.#path}: process ${pid} uses this outbox; if it does not, remove ${lock}`);
        }
        rmSync(lock, { force: true });
      }
    }
  }

  /** What was stored last, null for nothing; an error if it is not of this experiment. */
  async load() {
    let form;
    try {
      form = JSON.parse(await readFile(this.#path, 'utf8'));
    } catch (e) {
      if (e.code === 'ENOENT') return null;
      throw new Error(`${this.#path}: damaged: ${e.message}`);
    }
    if (form.format !== 1) throw new Error(`${this.#path}: format ${form.format}: want 1`);
    if (form.experiment !== this.#experiment) {
      throw new Error(`${this.#path}: it is of the experiment ${form.experiment}: want one outbox for each`);
    }
    const p = form.pending;
    if (!form.source || (p && (p.source !== form.source || p.sequence !== form.sequence))) {
      throw new Error(`${this.#path}: damaged: the source or the number of the report does not fit`);
    }
    return form;
  }

  /** Replaces what is kept. Then it survives the process and the machine. */
  async store({ source, sequence, pending, sums }) {
    const text = JSON.stringify({ format: 1, experiment: this.#experiment, source, sequence, pending, sums });
    const temporary = `${this.#path}.tmp`;
    const file = await open(temporary, 'w');
    try {
      await file.writeFile(text);
      await file.sync();
    } finally { await file.close(); }
    await rename(temporary, this.#path);
    if (process.platform === 'win32') return;
    const directory = await open(join(this.#path, '..'), 'r');
    try { await directory.sync(); } finally { await directory.close(); }
  }

  /** Lets another process open the outbox. */
  close() { rmSync(`${this.#path}.pid`, { force: true }); }
}
