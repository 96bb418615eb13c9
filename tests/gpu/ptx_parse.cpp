// SPDX-License-Identifier: Apache-2.0
// PTX text -> instructions whose operands are offsets. One kernel at a time: its own text, and the
// shared variables of the module.
#include "tests/gpu/ptx.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <map>

namespace
{

[[noreturn]] void refuse(const std::string &why, const std::string &what)
{
    fprintf(stderr, "ptx: %s: %s\n", why.c_str(), what.c_str());
    abort();
}

bool is_word(char c)
{
    return isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%';
}

bool starts_with(const std::string &text, const char *start)
{
    return text.rfind(start, 0) == 0;
}

// Without comments.
std::string plain(const std::string &text)
{
    std::string out;
    for (size_t i = 0; i < text.size(); i++) {
        if (text.compare(i, 2, "//") == 0)
            i = std::min(text.find('\n', i), text.size() - 1);
        out += text[i];
    }
    return out;
}

std::vector<std::string> words(const std::string &text, const char *separators)
{
    std::vector<std::string> out;
    size_t at = 0;
    while ((at = text.find_first_not_of(separators, at)) != std::string::npos) {
        const size_t end = std::min(text.find_first_of(separators, at), text.size());
        out.push_back(text.substr(at, end - at));
        at = end;
    }
    return out;
}

uint32_t round_up(uint32_t n, uint32_t to)
{
    return (n + to - 1) / to * to;
}

struct Operand {
    std::string base; // register, symbol or number
    int64_t displacement = 0;
    bool is_memory = false;
};

class Parser
{
  public:
    Parser(const std::string &module, const std::string &name) : text_(plain(module))
    {
        kernel_.name = name;
        const size_t entry = text_.find(".entry " + name + "(");
        if (entry == std::string::npos)
            refuse("no kernel of this name", name);
        const size_t body = text_.find("\n{", entry);
        shared_variables(text_.substr(0, entry));
        header(text_.substr(entry, body - entry));
        statements(body + 2);
        for (const auto &b : branches_) {
            if (!labels_.count(b.second))
                refuse("no such label", b.second);
            kernel_.code[b.first].target = labels_[b.second];
        }
        // Shared memory of a launch follows what is declared.
        kernel_.dynamic_at = round_up(kernel_.static_nbytes, 1024);
        for (const auto &e : externs_)
            patch(e, kernel_.dynamic_at);
    }

    PtxKernel kernel_;

  private:
    // Declarations of the module and of the kernel are alike: .shared .align N .b8 NAME[N]; or
    // .shared .align N .u32 NAME;
    void shared_variable(const std::string &line, bool is_extern)
    {
        const std::vector<std::string> w = words(line, " \t\n");
        uint32_t align = 1;
        for (size_t i = 0; i + 1 < w.size(); i++)
            if (w[i] == ".align")
                align = static_cast<uint32_t>(atoi(w[i + 1].c_str()));
        const std::vector<std::string> part = words(w.back(), "[];");
        const uint32_t element = static_cast<uint32_t>(atoi(w.at(w.size() - 2).c_str() + 2)) / 8;
        const uint32_t n = part.size() > 1 ? static_cast<uint32_t>(atoi(part[1].c_str())) : 1;
        if (is_extern) {
            externs_.push_back(part[0]);
            symbols_[part[0]] = 0;
            return;
        }
        kernel_.static_nbytes = round_up(kernel_.static_nbytes, align);
        symbols_[part[0]] = kernel_.static_nbytes;
        kernel_.static_nbytes += n * element;
    }

    // Those of the module, not those within other kernels.
    void shared_variables(const std::string &text)
    {
        long depth = 0;
        for (const std::string &line : words(text, "\n")) {
            if (depth == 0 && starts_with(line, ".shared"))
                shared_variable(line, false);
            else if (depth == 0 && starts_with(line, ".extern .shared"))
                shared_variable(line, true);
            depth += std::count(line.begin(), line.end(), '{');
            depth -= std::count(line.begin(), line.end(), '}');
        }
    }

    void header(const std::string &text)
    {
        for (const std::string &line : words(text, "\n")) {
            const std::vector<std::string> w = words(line, " \t,[]()");
            if (!w.empty() && w[0] == ".maxntid")
                kernel_.max_threads = static_cast<uint32_t>(atoi(w[1].c_str()));
            if (w.empty() || w[0] != ".param")
                continue;
            uint32_t align = 0, nbytes = 0;
            size_t i = 1;
            if (w[i] == ".align") {
                align = static_cast<uint32_t>(atoi(w[i + 1].c_str()));
                nbytes = static_cast<uint32_t>(atoi(w.back().c_str()));
                i += 3;
            } else {
                align = nbytes = static_cast<uint32_t>(atoi(w[i].c_str() + 2)) / 8;
                i++;
            }
            kernel_.param_nbytes = round_up(kernel_.param_nbytes, align);
            symbols_[w.at(i)] = kernel_.param_nbytes;
            kernel_.params.push_back({kernel_.param_nbytes, nbytes});
            kernel_.param_nbytes += nbytes;
        }
    }

    void statements(size_t at)
    {
        int depth = 1;
        for (;;) {
            at = text_.find_first_not_of(" \t\r\n", at);
            if (text_[at] == '{' || text_[at] == '}') {
                depth += text_[at++] == '{' ? 1 : -1;
                if (depth == 0)
                    return;
                continue;
            }
            if (text_.compare(at, 4, ".loc") == 0) {
                at = text_.find('\n', at);
                continue;
            }
            size_t end = at;
            while (is_word(text_[end]))
                end++;
            if (end > at && text_[end] == ':') {
                labels_[text_.substr(at, end - at)] = static_cast<uint32_t>(kernel_.code.size());
                at = end + 1;
                continue;
            }
            end = text_.find(';', at);
            statement(text_.substr(at, end - at));
            at = end + 1;
        }
    }

    void statement(const std::string &text)
    {
        if (starts_with(text, ".reg"))
            registers(text);
        else if (starts_with(text, ".shared"))
            shared_variable(text, false);
        else if (starts_with(text, "."))
            starts_with(text, ".pragma") ? void() : refuse("unknown directive", text);
        else
            instruction(text);
    }

    uint32_t new_slot(unsigned nbytes)
    {
        const uint32_t at = kernel_.file_nbytes;
        kernel_.file_nbytes += 32 * nbytes;
        return at;
    }

    // .reg .b32 %r<454>; or .reg .b64 %tmp;  A name in an inner scope is one register per kernel.
    void registers(const std::string &text)
    {
        const std::vector<std::string> w = words(text, " \t\n,");
        const unsigned nbytes =
            w.at(1) == ".pred" ? 1 : static_cast<unsigned>(atoi(w[1].c_str() + 2)) / 8;
        for (size_t i = 2; i < w.size(); i++) {
            const size_t range = w[i].find('<');
            const int n = range == std::string::npos ? 1 : atoi(w[i].c_str() + range + 1);
            for (int j = 0; j < n; j++) {
                const std::string name =
                    range == std::string::npos ? w[i] : w[i].substr(0, range) + std::to_string(j);
                const auto known = registers_.find(name);
                if (known == registers_.end())
                    registers_[name] = {new_slot(nbytes), nbytes};
                else if (known->second.second != nbytes)
                    refuse("a register of two sizes", name);
            }
        }
    }

    uint32_t constant(uint64_t value, unsigned nbytes)
    {
        const auto key = std::make_pair(value, nbytes);
        const auto known = constants_.find(key);
        if (known != constants_.end())
            return known->second;
        const uint32_t at = new_slot(nbytes);
        kernel_.constants.push_back({at, static_cast<uint8_t>(nbytes), value});
        constants_[key] = at;
        return at;
    }

    void patch(const std::string &symbol, uint32_t value)
    {
        for (const auto &use : symbol_uses_)
            if (use.first == symbol)
                kernel_.constants[use.second].value = value;
    }

    bool special(const std::string &name, unsigned nbytes, uint32_t *at)
    {
        static const std::map<std::string, PtxSpecial> names = {{"%tid", PtxSpecial::Tid},
                                                                {"%ntid", PtxSpecial::Ntid},
                                                                {"%ctaid", PtxSpecial::Ctaid},
                                                                {"%nctaid", PtxSpecial::Nctaid},
                                                                {"%laneid", PtxSpecial::Lane}};
        const size_t dot = name.find('.');
        const auto known = names.find(name.substr(0, dot));
        if (known == names.end() || nbytes != 4)
            return false;
        *at = new_slot(4);
        const uint8_t axis =
            dot == std::string::npos ? 0 : static_cast<uint8_t>(name[dot + 1] - 'x');
        kernel_.specials.push_back({*at, known->second, axis});
        return true;
    }

    // Numbers: 12, -12, 0x1f, 0f3F800000, 0d3FF0000000000000.
    static uint64_t number(const std::string &text)
    {
        if (starts_with(text, "0f") || starts_with(text, "0d"))
            return strtoull(text.c_str() + 2, nullptr, 16);
        if (text[0] == '-')
            return static_cast<uint64_t>(strtoll(text.c_str(), nullptr, 0));
        return strtoull(text.c_str(), nullptr, 0);
    }

    void resolve(const Operand &o, unsigned nbytes, unsigned i, PtxInstruction *out)
    {
        out->displacement[i] = o.displacement;
        const auto reg = registers_.find(o.base);
        const auto symbol = symbols_.find(o.base);
        if (reg != registers_.end()) {
            if (nbytes != 0 && nbytes != reg->second.second)
                refuse("an operand of another size: " + o.base, out->text);
            out->at[i] = reg->second.first;
            out->nbytes[i] = static_cast<uint8_t>(reg->second.second);
            return;
        }
        out->nbytes[i] = static_cast<uint8_t>(nbytes != 0 ? nbytes : 8);
        if (symbol != symbols_.end()) {
            out->at[i] = new_slot(out->nbytes[i]);
            symbol_uses_.push_back({o.base, kernel_.constants.size()});
            kernel_.constants.push_back({out->at[i], out->nbytes[i], symbol->second});
        } else if (isdigit(static_cast<unsigned char>(o.base[0])) || o.base[0] == '-') {
            out->at[i] = constant(number(o.base), out->nbytes[i]);
        } else if (!special(o.base, out->nbytes[i], &out->at[i])) {
            refuse("unknown operand " + o.base, out->text);
        }
    }

    // Braces do not matter but for mov, which packs or unpacks by them: told by `shape`.
    static std::vector<Operand> operands(const std::string &text, std::string *shape)
    {
        std::vector<Operand> out;
        size_t at = 0;
        while ((at = text.find_first_not_of(" \t\n,|}", at)) != std::string::npos) {
            if (text[at] == '{') {
                *shape = out.empty() ? "unpack" : "pack";
                at++;
                continue;
            }
            Operand o;
            o.is_memory = text[at] == '[';
            const size_t end =
                std::min(text.find_first_of(o.is_memory ? "]" : " \t\n,|}", at), text.size());
            o.base = text.substr(at + o.is_memory, end - at - o.is_memory);
            const size_t plus = o.base.find('+');
            if (o.is_memory && plus != std::string::npos) {
                o.displacement = strtoll(o.base.c_str() + plus + 1, nullptr, 0);
                o.base.resize(plus);
            }
            out.push_back(o);
            at = end + o.is_memory;
        }
        return out;
    }

    void instruction(const std::string &text)
    {
        PtxInstruction out;
        out.text = text;
        size_t at = 0;
        if (text[0] == '@') {
            out.has_guard = true;
            out.is_guard_negated = text[1] == '!';
            const size_t start = out.is_guard_negated ? 2 : 1;
            at = text.find_first_of(" \t", start);
            const auto reg = registers_.find(text.substr(start, at - start));
            if (reg == registers_.end() || reg->second.second != 1)
                refuse("unknown predicate", text);
            out.guard = reg->second.first;
            at = text.find_first_not_of(" \t", at);
        }
        const size_t end = std::min(text.find_first_of(" \t\n", at), text.size());
        std::string name = text.substr(at, end - at), shape;
        const std::vector<Operand> operand = operands(text.substr(end), &shape);
        if (starts_with(name, "mov.") && !shape.empty())
            name += "." + shape;
        if (!ptx_find_lanes(name, &out.op) && !ptx_find_warp(name, &out.op))
            refuse("unknown opcode " + name, text);
        if (out.op.kind == PtxKind::Branch) {
            branches_.push_back({kernel_.code.size(), operand.at(0).base});
        } else {
            if (operand.size() != out.op.n_operands)
                refuse("operands missing or too many", text);
            for (unsigned i = 0; i < operand.size(); i++)
                resolve(operand[i], out.op.nbytes[i], i, &out);
        }
        kernel_.code.push_back(out);
    }

    std::string text_;
    std::map<std::string, std::pair<uint32_t, unsigned>> registers_; // offset, bytes a lane
    std::map<std::pair<uint64_t, unsigned>, uint32_t> constants_;
    std::map<std::string, uint32_t> symbols_, labels_;
    std::vector<std::string> externs_;
    std::vector<std::pair<std::string, size_t>> symbol_uses_; // and the constant
    std::vector<std::pair<size_t, std::string>> branches_;
};

} // namespace

PtxKernel ptx_parse(const std::string &text, const std::string &name)
{
    return Parser(text, name).kernel_;
}
