/** The numbers under which words of the definition model are stored and filtered. */
import { stateSubType, stateType, taskType, triggerType } from "./definition/enumerations.ts";
import type { StateSubType, StateType, TaskType, TriggerType } from "./definition/enumerations.ts";

interface Codes<Word extends string> {
  codeOf(word: Word): number;
  wordOf(code: number): Word;
}

/** The words stand in the order of their numbers, the first of which is given. */
function codes<Word extends string>(words: readonly Word[], first: number): Codes<Word> {
  return {
    codeOf: (word) => words.indexOf(word) + first,
    wordOf(code) {
      const word = words[code - first];
      if (word === undefined) throw new Error(`${code} is no code of ${words.join(", ")}`);
      return word;
    },
  };
}

export const stateTypeCodes: Codes<StateType> = codes(stateType.words, 1);
export const stateSubTypeCodes: Codes<StateSubType> = codes(stateSubType.words, 0);
export const triggerTypeCodes: Codes<TriggerType> = codes(triggerType.words, 0);
export const taskTypeCodes: Codes<TaskType> = codes(taskType.words, 1);
