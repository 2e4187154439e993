//! What people keep in files for their agents: rules (`AGENTS.md`), prompt templates and skills. Each is looked for beside
//! the working directory and above it up to the root of the repository, and in `~/.agents`. Files are read when a turn
//! begins and when someone asks, so that nothing is watched while nothing happens.

mod load;
mod matter;
mod template;

use std::hash::{DefaultHasher, Hash, Hasher};

use porthole_protocol::{PromptFault, PromptKind, PromptRow, replies};

pub(crate) use load::load;

/// Everything that was found for one directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Resources {
    /// The rules, the most general first: file as shown, and text.
    pub(crate) rules: Vec<(String, String)>,
    templates: Vec<Template>,
    skills: Vec<Skill>,
    faults: Vec<(String, u32, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Template {
    name: String,
    description: String,
    arguments: String,
    path: String,
    text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Skill {
    name: String,
    description: String,
    path: String,
    folder: String,
    text: String,
    /// Whether the model is told of it.
    offered: bool,
}

/// Before the name of a skill, where it is typed.
const SKILL: &str = "skill:";

impl Resources {
    /// Returns what was found, with the last good form of each file that is not good now.
    pub(crate) fn after(mut self, before: &Self) -> Self {
        for (path, ..) in &self.faults {
            let rules = before.rules.iter().enumerate();
            for (at, rule) in rules.filter(|(_, (of, _))| of == path) {
                self.rules.insert(at.min(self.rules.len()), rule.clone());
            }
            // It counted before what is farther away and has the same name, and still does.
            for old in before.templates.iter().filter(|t| t.path == *path) {
                self.templates.retain(|t| t.name != old.name);
                self.templates.push(old.clone());
            }
            for old in before.skills.iter().filter(|s| s.path == *path) {
                self.skills.retain(|s| s.name != old.name);
                self.skills.push(old.clone());
            }
        }
        self.templates.sort_by(|a, b| a.name.cmp(&b.name));
        self.skills.sort_by(|a, b| a.name.cmp(&b.name));
        self
    }

    /// Returns a number that differs where anything differs; small enough for every reader of JSON.
    pub(crate) fn version(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish() >> 11
    }

    /// Returns what can be typed.
    pub(crate) fn prompts(&self) -> replies::Prompts {
        let templates = self.templates.iter().map(|template| PromptRow {
            name: template.name.clone(),
            description: template.description.clone(),
            arguments: template.arguments.clone(),
            kind: PromptKind::Template,
            path: template.path.clone(),
        });
        let skills = self.skills.iter().map(|skill| PromptRow {
            name: format!("{SKILL}{}", skill.name),
            description: skill.description.clone(),
            arguments: String::new(),
            kind: PromptKind::Skill,
            path: skill.path.clone(),
        });
        let fault = |(path, line, message): &(String, u32, String)| PromptFault {
            path: path.clone(),
            line: *line,
            message: message.clone(),
        };
        replies::Prompts {
            prompts: templates.chain(skills).collect(),
            faults: self.faults.iter().map(fault).collect(),
            version: self.version(),
        }
    }

    /// Returns what a typed text stands for; `None`: it is no template and no skill, and goes as it is.
    pub(crate) fn expand(&self, text: &str) -> Option<String> {
        let (name, rest) = template::command(text)?;
        if let Some(name) = name.strip_prefix(SKILL) {
            let skill = self.skills.iter().find(|skill| skill.name == name)?;
            let Skill {
                path, folder, text, ..
            } = skill;
            let head = format!(
                "Use the skill `{name}` ({path}). Paths in it are relative to {folder}.\n\n{text}"
            );
            return Some(match rest {
                "" => head,
                rest => format!("{head}\n\n{rest}"),
            });
        }
        let found = self
            .templates
            .iter()
            .find(|template| template.name == name)?;
        Some(template::fill(&found.text, &template::arguments(rest)))
    }

    /// Returns what the model is told of skills; empty where there is none.
    pub(crate) fn skills(&self) -> String {
        let offered: Vec<_> = self.skills.iter().filter(|skill| skill.offered).collect();
        if offered.is_empty() {
            return String::new();
        }
        let line =
            |skill: &&Skill| format!("- {}: {} ({})\n", skill.name, skill.description, skill.path);
        let lines: String = offered.iter().map(line).collect();
        format!(
            "\nSkills: instructions for special tasks. Where one fits, read its file first; paths in it are relative to its folder.\n{lines}"
        )
    }
}

#[cfg(test)]
mod tests;
