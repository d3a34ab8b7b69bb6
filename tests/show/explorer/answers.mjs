// Reads cases from standard input, and writes what the scripts of the page answer.
import { readFileSync } from "node:fs";
import { treeData } from "../../../bnplug/show/explorer/inference.mjs";
import { Questions } from "../../../bnplug/show/explorer/questions.mjs";

const finish = (job) => {
  for (;;) {
    const { done, value } = job.next();
    if (done) return value;
  }
};

const cases = JSON.parse(readFileSync(0, "utf8"));
const answers = cases.map(({ data, findings }) => {
  const questions = new Questions(treeData(data), data.target, data.calibration);
  return findings.map((known) => {
    const { posteriors, conflict, possible, findings: found } = questions.answer(known);
    const next = finish(questions.whatNext(known));
    const { prior, findings: shares } = finish(questions.contributions(known));
    const free = known.findIndex((one, v) => !one && v !== data.target);
    return {
      posteriors: posteriors.map((own) => [...own]),
      conflict: possible ? conflict : null,
      possible,
      findings: [...found],
      next,
      prior,
      shares: [...shares],
      whatIf: free < 0 ? null : [free, [...questions.whatIf(known, free, 0)]],
      again: questions.answer(known).posteriors.map((own) => [...own]),
    };
  });
});
process.stdout.write(JSON.stringify(answers));
