// What each part of a score means (docs/recall.md), in a sentence that needs no other page. A name that a newer server
// adds is shown without one.

export const PART_MEANINGS: Readonly<Record<string, string>> = {
  cue: 'words of the question that it says, or that were said just before or after it; rare ones count more',
  near: 'how much of the question was said around it, up to four turns away',
  context: 'how well its conversation fits the question',
  actor: 'the question names who said it',
  date: 'the question names a day, and it is of that day',
  when: 'the question asks when, and it says a time',
  answer: 'the turn before it asked with these words',
  resolved: 'its “yesterday” or “on Friday” is the day that the question names',
  stem: 'it says another form of a word of the question',
  place: 'the question asks where, and it says a place',
  duration: 'the question asks how long, and it says a duration',
  title: 'the question asks for a title, and it says one',
  person: 'the question asks who, and it names a person',
  akin: 'it says a word that means nearly the same',
  meaning: 'how close it is in meaning, by the encoder',
  relevance: 'how likely it answers the question',
  salience: 'what its text shows: numbers, times, something new',
  hint: 'what its sender added or took off',
  base: 'how recently it was said',
  stickiness: 'it was in mind already',
  due: 'its time comes near',
  echo: 'near copies of it by the same actor came before it',
}
